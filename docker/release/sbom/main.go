// Command sbom prints the modules in a bookside binary, Go itself and the embedded Swagger UI as a
// CycloneDX document, from the binary's own build information.
//
//	go run ./docker/release/sbom dist/bookside
//
// Run it in the repository from which the binary was built.
package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// swaggerUI is the file with the version of the only embedded third-party program.
const swaggerUI = "handlers/openapi/swaggerui/VERSION"

func run(args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return errors.New("name one binary of bookside")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	embedded, err := os.ReadFile(swaggerUI)
	if err != nil {
		return err
	}
	encoder := cyclonedx.NewBOMEncoder(stdout, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	return encoder.EncodeVersion(document(info, strings.TrimSpace(string(embedded))), cyclonedx.SpecVersion1_6)
}

// document has neither a time nor a serial number, so that the same binary always has the same document.
func document(info *buildinfo.BuildInfo, swaggerUI string) *cyclonedx.BOM {
	program := goModule(cyclonedx.ComponentTypeApplication, info.Main.Path, info.Main.Version)
	components := []cyclonedx.Component{goModule(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		components = append(components, goModule(cyclonedx.ComponentTypeLibrary, dep.Path, dep.Version))
	}
	components = append(components, component(cyclonedx.ComponentTypeLibrary, "npm", "swagger-ui-dist", swaggerUI))

	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &program}
	bom.Components = &components
	var references []string
	for _, c := range components {
		references = append(references, c.BOMRef)
	}
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &references}}
	return bom
}

func goModule(kind cyclonedx.ComponentType, path, version string) cyclonedx.Component {
	return component(kind, "golang", path, version)
}

func component(kind cyclonedx.ComponentType, ecosystem, name, version string) cyclonedx.Component {
	url := "pkg:" + ecosystem + "/" + name + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cyclonedx.Component{BOMRef: url, Type: kind, Name: name, Version: version, PackageURL: url}
}
