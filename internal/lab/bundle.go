package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"

	"service-dataplane/internal/bundle"
	"service-dataplane/internal/command"
	"service-dataplane/internal/dataplane"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/internal/nodeimage"
	"service-dataplane/internal/progress"
	"service-dataplane/internal/spec"
	"service-dataplane/internal/workload"
)

// CreateBundle packs what runs of the scenarios need of the outside into a
// file: it pulls or builds what is missing as a run would. The file is there
// only once it is whole.
func CreateBundle(ctx context.Context, options Options, target string, show *progress.Reporter) (bundle.Index, error) {
	index := bundle.Index{APIVersion: spec.APIVersion, Kind: "Bundle", Created: time.Now().UTC().Truncate(time.Second), Planes: []bundle.Plane{}}
	index.Revision = harness(ctx, options.Repo).Revision
	dir, err := os.MkdirTemp(options.WorkDir, "bundle-")
	if err != nil {
		return index, err
	}
	defer os.RemoveAll(dir)
	l := &lab{Options: options, show: show}
	l.WorkDir = dir
	if index.Node.Image, err = nodeimage.Resolve(ctx, l.NodeImage, l.Repo, show); err != nil {
		return index, fmt.Errorf("%w: no node image: %w", ErrHost, err)
	}
	if index.Node.Image, err = tagged(ctx, index.Node.Image); err != nil {
		return index, err
	}
	type chart struct{ name, version string }
	planes := map[chart]plane{}
	for _, scenario := range l.Scenarios {
		index.Scenarios = append(index.Scenarios, scenario.Metadata.Name)
		name, version := scenario.Spec.DataPlane.Chart()
		if of := (chart{name, version}); name != "" && planes[of].Images == nil {
			if planes[of], err = l.preparePlane(ctx, name, version); err != nil {
				return index, fmt.Errorf("%w: %s: %w", ErrHost, scenario.Metadata.Name, err)
			}
		}
	}
	out, err := bundle.NewWriter(target)
	if err != nil {
		return index, err
	}
	defer out.Discard()
	steps := []progress.Step{
		{Name: "pack the node image", Run: func(ctx context.Context) (err error) {
			archive := filepath.Join(dir, "node.tar")
			save := command.Command{Argv: []string{"docker", "save", "--output", archive, index.Node.Image.Reference}}
			if err := command.Run(ctx, save); err != nil {
				return err
			}
			index.Node.Archive, err = out.Add(ctx, "images/node.tar", archive)
			return errors.Join(err, os.Remove(archive))
		}},
		{Name: "pack the echo image", Run: func(ctx context.Context) error {
			echo, err := workload.BuildImage(ctx, l.Repo, dir)
			if err != nil {
				return err
			}
			index.Echo.Reference = echo.Reference
			if index.Echo.Binary, err = out.Add(ctx, "echo/echo", echo.Binary); err != nil {
				return err
			}
			index.Echo.Archive, err = out.Add(ctx, "images/echo.tar", echo.Archive)
			return err
		}},
	}
	inOrder := func(a, b chart) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.version, b.version)) }
	for _, of := range slices.SortedFunc(maps.Keys(planes), inOrder) {
		steps = append(steps, progress.Step{Name: "pack " + of.name + " " + of.version, Run: func(ctx context.Context) error {
			packed, err := packPlane(ctx, out, dir, of.name, of.version, planes[of])
			index.Planes = append(index.Planes, packed)
			return err
		}})
	}
	steps = append(steps, progress.Step{Name: "write the index", Run: func(context.Context) error { return out.Commit(index) }})
	return index, show.Run(ctx, steps...)
}

// tagged gives an image that is known by its digest a name without: an archive
// keeps no other.
func tagged(ctx context.Context, image imagebuild.Image) (imagebuild.Image, error) {
	name := imagebuild.Tag(image.Reference)
	if name == image.Reference {
		return image, nil
	}
	_, err := command.Output(ctx, "docker", "tag", image.Reference, name)
	image.Reference = name
	return image, err
}

func packPlane(ctx context.Context, out *bundle.Writer, dir, name, version string, p plane) (bundle.Plane, error) {
	packed := bundle.Plane{Name: name, Version: version, Images: p.Images, Names: p.Names, ChartFrom: p.Chart.From}
	for i, open := range p.archives {
		archive := filepath.Join(dir, "plane.tar")
		if err := copyTo(archive, open); err != nil {
			return packed, err
		}
		entry, err := out.Add(ctx, fmt.Sprintf("images/%s-%s-%d.tar", name, version, i), archive)
		if err != nil {
			return packed, err
		}
		packed.Archives = append(packed.Archives, entry)
	}
	archive, err := chartutil.Save(p.Chart.Chart, dir)
	if err != nil {
		return packed, err
	}
	packed.Chart, err = out.Add(ctx, "charts/"+filepath.Base(archive), archive)
	return packed, err
}

func copyTo(file string, open func() (io.ReadCloser, error)) error {
	source, err := open()
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// unpack takes everything that the runs need from the bundle, and nothing from
// elsewhere. What does not fit is an error that wraps ErrHost: there is no
// cluster yet.
func (l *lab) unpack(ctx context.Context, runnable []spec.Scenario) error {
	var b *bundle.Bundle
	err := l.show.Run(ctx,
		progress.Step{Name: "check the bundle", Run: func(ctx context.Context) (err error) {
			if b, err = bundle.Open(ctx, l.Bundle, l.Lock); err != nil {
				return err
			}
			for _, scenario := range runnable {
				if lacks := b.Lacks(scenario); lacks != "" {
					err = errors.Join(err, fmt.Errorf("bundle %s lacks what scenario %s needs: %s", l.Bundle, scenario.Metadata.Name, lacks))
				} else if otherwise := b.Otherwise(scenario, l.Lock); otherwise != "" {
					err = errors.Join(err, fmt.Errorf("bundle %s has for scenario %s what this tree does not pin: %s\n  → make it again with the runner of this tree", l.Bundle, scenario.Metadata.Name, otherwise))
				}
			}
			return err
		}},
		progress.Step{Name: "load the node image into the engine", Run: func(ctx context.Context) (err error) {
			l.image, err = l.bundledNode(ctx, b)
			return err
		}},
		progress.Step{Name: "unpack the workload", Run: func(ctx context.Context) (err error) {
			l.echo, err = l.bundledEcho(ctx, b)
			return err
		}},
	)
	if err == nil {
		l.bundle = b
		err = l.bundledPlanes(runnable)
	}
	if err != nil && context.Cause(ctx) == nil {
		err = fmt.Errorf("%w: %w", ErrHost, err)
	}
	return err
}

// bundledNode is the bundle's node image; a directory may leave it to the
// engine.
func (l *lab) bundledNode(ctx context.Context, b *bundle.Bundle) (imagebuild.Image, error) {
	want := b.Node.Image
	if want.ID == "" {
		return nodeimage.Resolve(ctx, l.NodeImage, l.Repo, l.show)
	}
	image, err := imagebuild.Inspect(ctx, want.Reference, want.Origin, want.ContentKey)
	if err != nil || image.ID != want.ID {
		archive, err := b.Open(b.Node.Archive)
		if err != nil {
			return image, err
		}
		defer archive.Close()
		if err := command.Run(ctx, command.Command{Argv: []string{"docker", "load", "--quiet"}, Stdin: archive}); err != nil {
			return image, err
		}
		if image, err = imagebuild.Inspect(ctx, want.Reference, want.Origin, want.ContentKey); err != nil {
			return image, err
		}
	}
	if image.ID != want.ID {
		return image, fmt.Errorf("node image %s of the bundle has become %s in the engine, want %s", want.Reference, image.ID, want.ID)
	}
	return image, nil
}

func (l *lab) bundledEcho(ctx context.Context, b *bundle.Bundle) (workload.Image, error) {
	if b.Echo.Reference == "" {
		return workload.BuildImage(ctx, l.Repo, l.WorkDir)
	}
	echo := workload.Image{Reference: b.Echo.Reference, Binary: filepath.Join(l.WorkDir, "echo"), Archive: filepath.Join(l.WorkDir, "echo.tar")}
	return echo, errors.Join(b.Extract(b.Echo.Binary, echo.Binary, 0o755), b.Extract(b.Echo.Archive, echo.Archive, 0o644))
}

func (l *lab) bundledPlanes(runnable []spec.Scenario) error {
	for _, scenario := range runnable {
		name, version := scenario.Spec.DataPlane.Chart()
		if name == "" {
			continue
		}
		packed, _ := l.bundle.Plane(name, version) // Lacks has been asked
		chart, err := l.bundle.Chart(packed)
		if err != nil {
			return err
		}
		p := plane{Prepared: dataplane.Prepared{
			Chart: dataplane.Chart{Chart: chart, From: packed.ChartFrom}, Images: packed.Images, Names: packed.Names, Deviations: packed.Deviations,
		}}
		for _, archive := range packed.Archives {
			p.archives = append(p.archives, func() (io.ReadCloser, error) { return l.bundle.Open(archive) })
		}
		l.planes[scenario.Metadata.Name] = p
	}
	return nil
}
