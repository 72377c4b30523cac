use super::{host, in_cargo_config, in_git_config, in_npmrc, in_pip_conf};

fn hosts(urls: Vec<String>) -> Vec<String> {
    urls.iter().filter_map(|url| host(url)).collect()
}

#[test]
fn registries_are_read_from_the_users_settings() {
    let npm = "registry=https://npm.example.com/x/\n@a:registry = \"http://127.0.0.1:4873\"\n\
               //auth.example.com:8443/x/:_authToken=secret\nproxy=http://proxy.example.com:3128\n# registry=https://no.example.com\n";
    assert_eq!(
        hosts(in_npmrc(npm)),
        ["npm.example.com:443", "127.0.0.1:4873", "auth.example.com:8443"]
    );
    let pip = "[global]\nindex-url = https://user:word@Pip.example.com/simple\nextra-index-url =\n    https://a.example.com/simple\n\
               \thttp://b.example.com:81/simple\nproxy = http://proxy.example.com:3128\n    https://no.example.com\n# find-links = https://no.example.com\n";
    assert_eq!(
        hosts(in_pip_conf(pip)),
        ["pip.example.com:443", "a.example.com:443", "b.example.com:81"]
    );
    let cargo = "[registries.one]\nindex = \"sparse+https://cargo.example.com/index/\"\n[source.two]\nregistry = \"https://two.example.com\"\n\
                 [http]\nproxy = \"http://proxy.example.com:3128\"\n";
    assert_eq!(hosts(in_cargo_config(cargo)), ["cargo.example.com:443", "two.example.com:443"]);
    let git = "[user]\n\tname = x\n[url \"https://git.example.com/\"]\n\tinsteadOf = https://no.example.com/\n\
               [http]\n\tproxy = http://proxy.example.com:3128\n[credential \"https://id.example.com\"]\n[url \"git@ssh.example.com:\"]\n";
    assert_eq!(hosts(in_git_config(git)), ["git.example.com:443", "id.example.com:443"]);
}

#[test]
fn only_the_host_of_a_url_counts() {
    assert_eq!(host("https://a.example.com@b.example.com/").as_deref(), Some("b.example.com:443"));
    assert_eq!(host("https://[2001:db8::1]/").as_deref(), Some("[2001:db8::1]:443"));
    for url in
        ["ssh://git.example.com", "file:///x", "https://", "https://${HOST}/", "off", "direct"]
    {
        assert_eq!(host(url), None, "{url}");
    }
}
