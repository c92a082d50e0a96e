package schema

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// module is the path of this tree's packages.
const module = "service-dataplane/"

// comments are what the sources say that reflection does not.
type comments struct {
	// text of types and of fields, by import path and name.
	text map[string]string
	// values of the constants of a type.
	values map[string][]string
}

// read adds the sources of a package, given by its import path.
func (c comments) read(tree fs.FS, pkg string) error {
	files, err := fs.Glob(tree, path.Join(strings.TrimPrefix(pkg, module), "*.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("the sources of %s, whose comments the schemas quote, are not in this tree (%v); say where it is with --repo DIR", pkg, err)
	}
	for _, file := range files {
		source, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range parsed.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				c.declared(pkg, general)
			}
		}
	}
	return nil
}

func (c comments) declared(pkg string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			of := pkg + "." + spec.Name.Name
			c.text[of] = said(spec.Doc, d.Doc, spec.Comment)
			if structure, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range structure.Fields.List {
					for _, name := range field.Names {
						c.text[of+"."+name.Name] = said(field.Doc, field.Comment)
					}
				}
			}
		case *ast.ValueSpec:
			of, ok := spec.Type.(*ast.Ident)
			if !ok || d.Tok != token.CONST {
				continue
			}
			for _, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil {
						c.values[pkg+"."+of.Name] = append(c.values[pkg+"."+of.Name], text)
					}
				}
			}
		}
	}
}

// said is the first comment there is, as one line.
func said(groups ...*ast.CommentGroup) string {
	for _, group := range groups {
		if text := strings.Join(strings.Fields(group.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}
