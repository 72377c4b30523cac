//! The flags that select the format of `eyelet tools` and `eyelet limits`.

use clap::{Args, ValueEnum};
use eyelet::DefinitionFormat;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatFlag {
    Mcp,
    Openai,
    Anthropic,
}

impl From<FormatFlag> for DefinitionFormat {
    fn from(format: FormatFlag) -> Self {
        match format {
            FormatFlag::Mcp => DefinitionFormat::Mcp,
            FormatFlag::Openai => DefinitionFormat::OpenAi,
            FormatFlag::Anthropic => DefinitionFormat::Anthropic,
        }
    }
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct LimitsFlags {
    /// Print the limits as JSON
    #[arg(long)]
    json: bool,
    /// Print the limits as a Markdown table
    #[arg(long)]
    markdown: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum LimitsForm {
    Table,
    Json,
    Markdown,
}

impl LimitsFlags {
    pub(crate) fn chosen(&self) -> LimitsForm {
        match (self.json, self.markdown) {
            (true, _) => LimitsForm::Json,
            (false, true) => LimitsForm::Markdown,
            (false, false) => LimitsForm::Table,
        }
    }
}
