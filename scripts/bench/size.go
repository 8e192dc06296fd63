package main

import (
	"archive/zip"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
)

// size measures the functions as they are uploaded: a zip with one file.
func size(_ context.Context, o options) ([]table, error) {
	t := table{Bench: "size", Title: "the built functions, zipped", Notes: []string{"Aim: each zip at most 8 MB."}}
	for _, name := range laptop.Functions {
		path := filepath.Join(o.Dist, name, "bootstrap")
		file, err := elf.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%w: run `make build` first, or name the folder with --dist", err)
		}
		machine := file.Machine
		file.Close()
		plain, zipped, err := zippedSize(path)
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, row{name + " " + map[elf.Machine]string{elf.EM_AARCH64: "arm64", elf.EM_X86_64: "amd64"}[machine], []figure{megabytes("binary", plain), megabytes("zip", zipped)}})
	}
	return []table{t}, nil
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func zippedSize(path string) (plain, zipped int64, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer in.Close()
	var out counter
	z := zip.NewWriter(&out)
	w, err := z.Create("bootstrap")
	if err != nil {
		return 0, 0, err
	}
	if plain, err = io.Copy(w, in); err != nil {
		return 0, 0, fmt.Errorf("zip %s: %w", path, err)
	}
	if err := z.Close(); err != nil {
		return 0, 0, fmt.Errorf("zip %s: %w", path, err)
	}
	return plain, int64(out), nil
}
