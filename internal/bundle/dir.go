package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"helm.sh/helm/v3/pkg/chart/loader"

	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/spec"
)

// FromDirectory is the origin of images that lay in a directory.
const FromDirectory = "directory"

// deviationsFile says, a line each, in what the images of a directory differ
// from the published ones.
const deviationsFile = "deviations.txt"

// nodeTag is how node images are called: kind's own and those built here.
var nodeTag = regexp.MustCompile(`^(docker\.io/)?(kindest|localhost/service-dataplane)/node:`)

// openDir makes the index of a directory that holds archives of docker save and
// charts. An image is what one of the lock's references says, but for the
// digest, which an archive does not keep.
func openDir(ctx context.Context, dir string, lock spec.Lock) (*Bundle, error) {
	b := &Bundle{path: dir, Index: Index{APIVersion: spec.APIVersion, Kind: kind}}
	planes := map[string]*Plane{}
	var order []string
	plane := func(c spec.Chart) *Plane {
		key := c.Name + " " + c.Version
		if planes[key] == nil {
			planes[key] = &Plane{Name: c.Name, Version: c.Version, Images: map[string]imagebuild.Image{}, Names: map[string]string{}}
			order = append(order, key)
		}
		return planes[key]
	}
	archives, charts, err := files(dir)
	if err != nil {
		return nil, err
	}
	for _, archive := range archives {
		entry, err := describe(ctx, dir, archive)
		if err != nil {
			return nil, err
		}
		manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(archive) })
		if err != nil {
			return nil, fmt.Errorf("%s is no archive of docker save: %w", archive, err)
		}
		for _, image := range manifest {
			// docker save names the configuration HEX.json, others sha256:HEX.
			id := "sha256:" + strings.TrimPrefix(strings.TrimSuffix(filepath.Base(image.Config), ".json"), "sha256:")
			for _, tag := range image.RepoTags {
				found := imagebuild.Image{Reference: tag, ID: id, Origin: FromDirectory, Bytes: entry.Bytes}
				if nodeTag.MatchString(tag) {
					if other := b.Node.Image; other.ID != "" && other.ID != id {
						return nil, fmt.Errorf("%s has two node images, %s and %s: leave one", dir, other.Reference, tag)
					}
					b.Node = Node{found, entry}
				}
				for _, c := range lock.Charts {
					if part := partOf(c, tag); part != "" {
						p := plane(c)
						if other := p.Images[part]; other.ID != "" && other.ID != id {
							return nil, fmt.Errorf("%s has two images for the %s of %s %s, %s and %s: leave one", dir, part, c.Name, c.Version, other.Reference, tag)
						}
						p.Images[part], p.Names[part] = found, tag
						if !slices.Contains(p.Archives, entry) {
							p.Archives = append(p.Archives, entry)
						}
					}
				}
			}
		}
	}
	for _, file := range charts {
		entry, err := describe(ctx, dir, file)
		if err != nil {
			return nil, err
		}
		loaded, err := loader.LoadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s is no chart: %w", file, err)
		}
		c, ok := lock.Chart(loaded.Name(), loaded.Metadata.Version)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s is chart %s %s, which charts/lock.yaml does not pin", file, loaded.Name(), loaded.Metadata.Version)
		case c.Digest != "" && c.Digest != "sha256:"+entry.SHA256:
			return nil, fmt.Errorf("%s is sha256:%s, and charts/lock.yaml pins %s", file, entry.SHA256, c.Digest)
		}
		p := plane(c)
		p.Chart, p.ChartFrom = entry, "a directory, sha256:"+entry.SHA256
	}
	deviations, err := readDeviations(dir)
	if err != nil {
		return nil, err
	}
	for _, key := range order {
		p := planes[key]
		p.Deviations = deviations
		c, _ := lock.Chart(p.Name, p.Version)
		for part := range c.Images {
			if p.Names[part] == "" {
				return nil, fmt.Errorf("%s has no image for the %s of %s, such as %s", dir, part, key, imagebuild.Tag(c.Images[part]))
			}
		}
		if p.Chart.File == "" {
			return nil, fmt.Errorf("%s has no chart archive of %s", dir, key)
		}
		b.Planes = append(b.Planes, *p)
	}
	if len(b.Planes) == 0 && b.Node.Image.ID == "" {
		return nil, fmt.Errorf("%s has neither *.tar archives of docker save with a node image or images of charts/lock.yaml, nor charts", dir)
	}
	return b, nil
}

// readDeviations returns what a directory says of its images. That an archive
// keeps no digest is said of all.
func readDeviations(dir string) ([]string, error) {
	all := []string{"images from a directory of archives, which keep no digest: they were not compared with the published ones"}
	text, err := os.ReadFile(filepath.Join(dir, deviationsFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all, nil
}

// partOf is what of a chart an image is, "" where it is nothing of it. Images
// built from source have the version in their tag and a key behind it.
func partOf(c spec.Chart, tag string) string {
	for part, reference := range c.Images {
		if tag == imagebuild.Tag(reference) {
			return part
		}
	}
	own, ok := strings.CutPrefix(tag, "localhost/service-dataplane/")
	repository, version, _ := strings.Cut(own, ":")
	if !ok || version != "v"+c.Version && !strings.HasPrefix(version, "v"+c.Version+"-") {
		return ""
	}
	return map[string]string{c.Name: "agent", c.Name + "-agent": "agent", c.Name + "-operator": "operator"}[repository]
}

// files are the archives and the charts of a directory, by their names.
func files(dir string) (archives, charts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		switch filepath.Ext(e.Name()) {
		case ".tar":
			archives = append(archives, file)
		case ".tgz":
			charts = append(charts, file)
		}
	}
	return archives, charts, nil
}

func describe(ctx context.Context, dir, file string) (Entry, error) {
	source, err := os.Open(file)
	if err != nil {
		return Entry{}, err
	}
	defer source.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, whileAlive{ctx, source})
	if err != nil {
		return Entry{}, err
	}
	name, err := filepath.Rel(dir, file)
	return Entry{File: filepath.ToSlash(name), Bytes: size, SHA256: hex.EncodeToString(hash.Sum(nil))}, err
}
