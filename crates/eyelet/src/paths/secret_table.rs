//! The table of places where programs store secrets.
//!
//! `docs/secrets.md` shows the table; a test compares both. A path belongs here if it contains credentials, or
//! what a person typed, and if the program that owns it works without it. The page lists exceptions.

/// Places where programs store secrets.
///
/// A path starts with `~`, with a variable such as `$CARGO_HOME`, or with `/`. If a variable of
/// [`SECRET_VARIABLES`] is set, the path is denied both in the directory that the variable names and
/// in the default directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Secret {
    /// What the programs store in these paths, or which programs they are.
    pub what: &'static str,
    /// What the paths contain.
    pub kind: SecretKind,
    /// The files and directories, separated by commas.
    list: &'static str,
}

impl Secret {
    /// Returns the files and directories.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.list.split(", ")
    }
}

/// What the paths of a [`Secret`] contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretKind {
    /// Credentials. If a directory contains symlinks, such as those of a dotfile manager, their targets
    /// are denied, too.
    Credentials,
    /// Settings, sessions or histories that contain credentials among other things.
    Settings,
}

const fn credentials(what: &'static str, list: &'static str) -> Secret {
    Secret { what, kind: SecretKind::Credentials, list }
}

const fn settings(what: &'static str, list: &'static str) -> Secret {
    Secret { what, kind: SecretKind::Settings, list }
}

/// Environment variables that change the location of a directory, each with the default location.
pub const SECRET_VARIABLES: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", "~/.config"),
    ("XDG_DATA_HOME", "~/.local/share"),
    ("XDG_STATE_HOME", "~/.local/state"),
    ("XDG_CACHE_HOME", "~/.cache"),
    ("GNUPGHOME", "~/.gnupg"),
    ("PASSWORD_STORE_DIR", "~/.password-store"),
    ("STEPPATH", "~/.step"),
    ("AZURE_CONFIG_DIR", "~/.azure"),
    ("CLOUDSDK_CONFIG", "~/.config/gcloud"),
    ("PULUMI_HOME", "~/.pulumi"),
    ("FLY_CONFIG_DIR", "~/.fly"),
    ("MINIKUBE_HOME", "~"),
    ("GH_CONFIG_DIR", "$XDG_CONFIG_HOME/gh"),
    ("GLAB_CONFIG_DIR", "$XDG_CONFIG_HOME/glab-cli"),
    ("CARGO_HOME", "~/.cargo"),
    ("COMPOSER_HOME", "~/.composer"),
    ("GRADLE_USER_HOME", "~/.gradle"),
    ("POETRY_CONFIG_DIR", "$XDG_CONFIG_HOME/pypoetry"),
    ("DOCKER_CONFIG", "~/.docker"),
    ("DBT_PROFILES_DIR", "~/.dbt"),
    ("SNOWFLAKE_HOME", "~/.snowflake"),
    ("IPYTHONDIR", "~/.ipython"),
    ("HF_HOME", "$XDG_CACHE_HOME/huggingface"),
    ("KAGGLE_CONFIG_DIR", "~/.kaggle"),
    ("CLAUDE_CONFIG_DIR", "~/.claude"),
    ("CODEX_HOME", "~/.codex"),
    ("GEMINI_CLI_HOME", "~"),
    ("COPILOT_HOME", "~/.copilot"),
    ("CONTINUE_GLOBAL_DIR", "~/.continue"),
];

/// The places that [`DenyList::with_secrets`](crate::DenyList::with_secrets) denies.
pub const SECRETS: &[Secret] = &[
    credentials(
        "keys of SSH, GnuPG, age, TLS and X11",
        "~/.ssh, $GNUPGHOME, ~/.putty, ~/.pki, $STEPPATH, $XDG_CONFIG_HOME/age, \
         $XDG_CONFIG_HOME/sops, $SOPS_AGE_KEY_FILE, ~/.Xauthority, $XAUTHORITY, ~/.ICEauthority",
    ),
    credentials(
        "keyrings and password managers",
        "$XDG_DATA_HOME/keyrings, $XDG_DATA_HOME/kwalletd, $XDG_DATA_HOME/python_keyring, \
         $PASSWORD_STORE_DIR, $XDG_DATA_HOME/gopass, $XDG_CONFIG_HOME/gopass, \
         $XDG_CONFIG_HOME/Bitwarden, $XDG_CONFIG_HOME/Bitwarden CLI, $BITWARDENCLI_APPDATA_DIR, \
         $XDG_CONFIG_HOME/rbw, $XDG_DATA_HOME/rbw, $XDG_CACHE_HOME/rbw, $XDG_CONFIG_HOME/op, \
         $OP_CONFIG_DIR, $XDG_CONFIG_HOME/1Password, $XDG_CONFIG_HOME/keepassxc, \
         $XDG_CACHE_HOME/keepassxc, $XDG_DATA_HOME/lpass, ~/.lpass, ~/.vault-token, \
         ~/.vault_pass, ~/.vault_pass.txt, $ANSIBLE_VAULT_PASSWORD_FILE, ~/Library/Keychains",
    ),
    credentials(
        "clouds and clusters",
        "~/.aws, $AWS_CONFIG_FILE, $AWS_SHARED_CREDENTIALS_FILE, $AWS_WEB_IDENTITY_TOKEN_FILE, \
         $AZURE_CONFIG_DIR, $AZURE_FEDERATED_TOKEN_FILE, $CLOUDSDK_CONFIG, \
         $GOOGLE_APPLICATION_CREDENTIALS, ~/.boto, $BOTO_CONFIG, ~/.gsutil, ~/.kube, \
         $KUBECONFIG, $MINIKUBE_HOME/.minikube, $XDG_CONFIG_HOME/argocd, ~/.oci, \
         $OCI_CLI_CONFIG_FILE, ~/.bluemix, ~/.aliyun, $XDG_CONFIG_HOME/openstack, \
         $OS_CLIENT_CONFIG_FILE, $XDG_CONFIG_HOME/doctl, $XDG_CONFIG_HOME/hcloud, \
         $XDG_CONFIG_HOME/scw, $XDG_CONFIG_HOME/linode-cli, $FLY_CONFIG_DIR, \
         $XDG_DATA_HOME/heroku, $XDG_CONFIG_HOME/netlify, $XDG_CONFIG_HOME/neonctl, \
         $XDG_DATA_HOME/com.vercel.cli, $XDG_CONFIG_HOME/configstore/firebase-tools.json, \
         $XDG_CONFIG_HOME/.wrangler, ~/.wrangler, ~/.railway, ~/.supabase, ~/.cloudflared, \
         $XDG_CONFIG_HOME/ngrok, ~/.ngrok2, ~/.s3cfg, ~/.mc, $XDG_CONFIG_HOME/rclone, \
         ~/.rclone.conf, $RCLONE_CONFIG, /run/secrets, /var/run/secrets",
    ),
    credentials(
        "Terraform, Pulumi, Ansible and Chef",
        "~/.terraformrc, $TF_CLI_CONFIG_FILE, ~/.terraform.d/credentials.tfrc.json, \
         $PULUMI_HOME/credentials.json, ~/.ansible/galaxy_token, ~/.chef",
    ),
    credentials(
        "git and its hosts",
        "~/.git-credentials, $XDG_CONFIG_HOME/git/credentials, ~/.gitcookies, ~/.gcm, ~/.netrc, \
         $NETRC, ~/.authinfo, ~/.authinfo.gpg, $GH_CONFIG_DIR, $GLAB_CONFIG_DIR, \
         $XDG_CONFIG_HOME/hub, $XDG_CONFIG_HOME/tea, $XDG_CONFIG_HOME/github-copilot, \
         ~/.subversion/auth, ~/.arcrc, ~/.python-gitlab.cfg",
    ),
    credentials(
        "package registries",
        "$CARGO_HOME/credentials, $CARGO_HOME/credentials.toml, ~/.npmrc, \
         $NPM_CONFIG_USERCONFIG, $npm_config_userconfig, ~/.yarnrc.yml, \
         $XDG_CONFIG_HOME/pnpm/auth.ini, $XDG_CONFIG_HOME/pnpm/rc, ~/.pypirc, \
         $POETRY_CONFIG_DIR/auth.toml, $XDG_DATA_HOME/uv/credentials, $UV_CREDENTIALS_DIR, \
         ~/.gem/credentials, $XDG_DATA_HOME/gem/credentials, $COMPOSER_HOME/auth.json, \
         $XDG_CONFIG_HOME/composer/auth.json, ~/.m2/settings-security.xml, \
         $GRADLE_USER_HOME/gradle.properties, ~/.ivy2/.credentials, ~/.sbt/.credentials, \
         ~/.hex/hex.config, $XDG_CONFIG_HOME/dart/pub-credentials.json, \
         ~/.pub-cache/credentials.json",
    ),
    credentials(
        "container registries",
        "$DOCKER_CONFIG/config.json, $DOCKER_CONFIG/contexts, ~/.dockercfg, \
         $XDG_CONFIG_HOME/containers/auth.json, $XDG_RUNTIME_DIR/containers/auth.json, \
         $REGISTRY_AUTH_FILE, $XDG_CONFIG_HOME/helm/registry, \
         $XDG_CONFIG_HOME/helm/registry.json, $HELM_REGISTRY_CONFIG, \
         ~/.apptainer/docker-config.json, ~/.singularity/docker-config.json, ~/.regctl",
    ),
    credentials(
        "databases",
        "~/.pgpass, $PGPASSFILE, ~/.pg_service.conf, $PGSERVICEFILE, ~/.my.cnf, ~/.mylogin.cnf, \
         $MYSQL_TEST_LOGIN_FILE, ~/.cassandra, ~/.usqlpass, ~/.influxdbv2, ~/.clickhouse-client, \
         $SNOWFLAKE_HOME, ~/.snowsql, ~/.databrickscfg, $DATABRICKS_CONFIG_FILE, ~/.databricks, \
         $DBT_PROFILES_DIR/profiles.yml, $XDG_DATA_HOME/DBeaverData",
    ),
    credentials(
        "services for machine learning",
        "$HF_HOME/token, $HF_HOME/stored_tokens, $HF_TOKEN_PATH, ~/.huggingface, \
         $KAGGLE_CONFIG_DIR, $XDG_CONFIG_HOME/kaggle, $XDG_CONFIG_HOME/wandb, ~/.modal.toml, \
         ~/.comet.config, ~/.ollama/id_ed25519, $XDG_DATA_HOME/jupyter/runtime, \
         $JUPYTER_RUNTIME_DIR",
    ),
    credentials(
        "other services, mobile development and wallets",
        "~/.env, ~/.sentryclirc, $XDG_CONFIG_HOME/stripe, $XDG_CONFIG_HOME/twilio-cli, \
         ~/.circleci, ~/.travis, $XDG_CONFIG_HOME/.jira, ~/.android/adbkey, ~/.keystore, \
         ~/.expo, ~/.appstoreconnect, ~/.msmtprc, $XDG_CONFIG_HOME/msmtp, ~/.mbsyncrc, \
         $XDG_CONFIG_HOME/isyncrc, ~/.fetchmailrc, ~/.vnc/passwd, \
         $XDG_CONFIG_HOME/tigervnc/passwd, $XDG_CONFIG_HOME/borg, $XDG_CONFIG_HOME/syncthing, \
         $XDG_STATE_HOME/syncthing, $XDG_STATE_HOME/eyelet/http-tokens, ~/.bitcoin, ~/.electrum, \
         ~/.ethereum, $XDG_CONFIG_HOME/solana",
    ),
    settings(
        "MCP clients and agents",
        "$CLAUDE_CONFIG_DIR, ~/.claude.json, $XDG_CONFIG_HOME/Claude, $CODEX_HOME, \
         $GEMINI_CLI_HOME/.gemini, $COPILOT_HOME, ~/.cursor, $XDG_CONFIG_HOME/cursor, \
         $XDG_CONFIG_HOME/Cursor, ~/.cursor-server/data, $XDG_CONFIG_HOME/Code, \
         $XDG_CONFIG_HOME/Code - Insiders, $XDG_CONFIG_HOME/VSCodium, ~/.vscode-server/data, \
         $XDG_CONFIG_HOME/opencode, $XDG_DATA_HOME/opencode, $OPENCODE_CONFIG, \
         $OPENCODE_CONFIG_DIR, $XDG_CONFIG_HOME/zed, $XDG_DATA_HOME/zed/db, \
         $XDG_DATA_HOME/zed/threads, ~/.codeium, $XDG_CONFIG_HOME/Windsurf, \
         $XDG_CONFIG_HOME/goose, $XDG_DATA_HOME/goose, $XDG_STATE_HOME/goose, ~/.aider, \
         ~/.aider.conf.yml, $CONTINUE_GLOBAL_DIR, ~/.cline, ~/.roo, ~/.kilocode, ~/.qwen, \
         ~/.kiro, $XDG_DATA_HOME/kiro-cli, $XDG_DATA_HOME/amazon-q, $XDG_CONFIG_HOME/amp, \
         $XDG_DATA_HOME/amp, $XDG_CONFIG_HOME/crush, $XDG_DATA_HOME/crush, ~/.factory, \
         ~/.augment, ~/.junie, ~/.grok, ~/.kimi, ~/.pi, ~/.openhands, $XDG_CONFIG_HOME/aichat, \
         $XDG_CONFIG_HOME/mods, $XDG_CONFIG_HOME/io.datasette.llm, $LLM_USER_PATH, \
         ~/Library/Application Support/Claude, ~/Library/Application Support/Code, \
         ~/Library/Application Support/Cursor, ~/Library/Application Support/Windsurf",
    ),
    settings(
        "browsers, mail and messengers",
        "~/.mozilla, $XDG_CONFIG_HOME/mozilla, ~/.librewolf, ~/.waterfox, ~/.zen, \
         $XDG_CONFIG_HOME/google-chrome, $XDG_CONFIG_HOME/google-chrome-beta, \
         $XDG_CONFIG_HOME/google-chrome-unstable, $XDG_CONFIG_HOME/chromium, \
         $XDG_CONFIG_HOME/BraveSoftware, $XDG_CONFIG_HOME/microsoft-edge, \
         $XDG_CONFIG_HOME/microsoft-edge-beta, $XDG_CONFIG_HOME/microsoft-edge-dev, \
         $XDG_CONFIG_HOME/vivaldi, $XDG_CONFIG_HOME/opera, ~/snap/firefox, ~/snap/chromium, \
         ~/snap/brave, ~/snap/opera, ~/snap/thunderbird, ~/.var/app, ~/.thunderbird, \
         $XDG_CONFIG_HOME/evolution, $XDG_DATA_HOME/evolution, $XDG_CONFIG_HOME/Signal, \
         $XDG_CONFIG_HOME/Slack, $XDG_CONFIG_HOME/discord, $XDG_CONFIG_HOME/Element, \
         $XDG_DATA_HOME/TelegramDesktop, ~/.purple, ~/Library/Application Support/BraveSoftware, \
         ~/Library/Application Support/Firefox, ~/Library/Application Support/Google/Chrome, \
         ~/Library/Application Support/Microsoft Edge, ~/Library/Cookies",
    ),
    settings(
        "histories of shells, databases and interpreters",
        "~/.bash_history, ~/.zsh_history, ~/.zhistory, ~/.histfile, ~/.history, ~/.sh_history, \
         ~/.ksh_history, ~/.ash_history, $HISTFILE, $XDG_DATA_HOME/fish/fish_history, \
         $XDG_CONFIG_HOME/nushell/history.txt, $XDG_CONFIG_HOME/nushell/history.sqlite3, \
         $XDG_DATA_HOME/powershell/PSReadLine, $XDG_DATA_HOME/atuin, $XDG_DATA_HOME/mcfly, \
         ~/.psql_history, $PSQL_HISTORY, $XDG_CONFIG_HOME/pgcli/history, ~/.mysql_history, \
         $MYSQL_HISTFILE, ~/.mariadb_history, ~/.mycli-history, ~/.sqlite_history, \
         $SQLITE_HISTORY, ~/.duckdb_history, ~/.clickhouse-client-history, ~/.dbshell, \
         ~/.mongodb, ~/.rediscli_history, $REDISCLI_HISTFILE, ~/.python_history, \
         $PYTHON_HISTORY, $IPYTHONDIR/profile_default/history.sqlite, ~/.node_repl_history, \
         $NODE_REPL_HISTORY, ~/.irb_history, ~/.pry_history, ~/.php_history, ~/.Rhistory, \
         ~/.gdb_history, ~/.lesshst, $LESSHISTFILE, $XDG_STATE_HOME/lesshst, ~/.viminfo, \
         $XDG_STATE_HOME/nvim/shada",
    ),
];
