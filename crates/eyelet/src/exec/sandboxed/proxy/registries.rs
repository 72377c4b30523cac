//! The hosts that `registries` stands for.

/// Well-known package registries and git hosts, each with its port.
pub const REGISTRIES: &[&str] = &[
    // JavaScript.
    "registry.npmjs.org:443",
    "registry.yarnpkg.com:443",
    "nodejs.org:443",
    "jsr.io:443",
    "npm.jsr.io:443",
    "deno.land:443",
    // Python.
    "pypi.org:443",
    "files.pythonhosted.org:443",
    "conda.anaconda.org:443",
    "repo.anaconda.com:443",
    // Rust.
    "crates.io:443",
    "index.crates.io:443",
    "static.crates.io:443",
    "static.rust-lang.org:443",
    // Go.
    "proxy.golang.org:443",
    "sum.golang.org:443",
    "go.dev:443",
    "golang.org:443",
    // Java.
    "repo.maven.apache.org:443",
    "repo1.maven.org:443",
    "plugins.gradle.org:443",
    "services.gradle.org:443",
    // Ruby, PHP, .NET, Dart, Elixir.
    "rubygems.org:443",
    "index.rubygems.org:443",
    "packagist.org:443",
    "repo.packagist.org:443",
    "api.nuget.org:443",
    "pub.dev:443",
    "hex.pm:443",
    "repo.hex.pm:443",
    // Git.
    "github.com:443",
    "codeload.github.com:443",
    "raw.githubusercontent.com:443",
    "objects.githubusercontent.com:443",
    "release-assets.githubusercontent.com:443",
    "gitlab.com:443",
    "bitbucket.org:443",
    "codeberg.org:443",
    "git.sr.ht:443",
];
