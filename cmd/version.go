package cmd

import (
	"io"
	"runtime/debug"

	"github.com/poolwright/poolwright/render/build"
)

// VersionCmd prints what this binary was built from.
type VersionCmd struct {
	Output `embed:""`
}

// Help is shown by --help.
func (VersionCmd) Help() string { return example("poolwright version -o json") }

// versionInfo is what `version` tells.
type versionInfo struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Go        string `json:"go"`
	Kustomize string `json:"kustomize"`
}

// Run prints the version.
func (c VersionCmd) Run(std *Stdio) error {
	v := readVersion()
	return c.write(std.Out, v, func(w io.Writer) error {
		rows := [][]string{{"poolwright", v.Version}}
		if v.Commit != "" {
			rows = append(rows, []string{"commit", v.Commit})
		}
		return table(w, append(rows, []string{"go", v.Go}, []string{"kustomize api", v.Kustomize}))
	})
}

// readVersion reads what the linker wrote into the binary.
func readVersion() versionInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versionInfo{Version: "unknown"}
	}
	return versionInfo{
		Version:   info.Main.Version,
		Commit:    setting(info, "vcs.revision"),
		Go:        info.GoVersion,
		Kustomize: build.KustomizeVersion(),
	}
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
