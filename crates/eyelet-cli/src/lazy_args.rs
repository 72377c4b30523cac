//! Subcommands whose flags are built only when needed. Building the flags and help of all commands would
//! take most of a short call's startup time.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The arguments of a subcommand.
#[derive(Debug)]
pub(crate) struct LazyArgs<A>(pub(crate) A);

impl<A: Args> Args for LazyArgs<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| keep_about(command, A::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| keep_about(command, A::augment_args_for_update))
    }
}

/// Keeps the subcommand's own description: the doc comment of its arguments' type would replace it.
fn keep_about(command: Command, augment: fn(Command) -> Command) -> Command {
    let (about, long) = (command.get_about().cloned(), command.get_long_about().cloned());
    augment(command).about(Resettable::from(about)).long_about(Resettable::from(long))
}

impl<A: FromArgMatches> FromArgMatches for LazyArgs<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        A::from_arg_matches(matches).map(LazyArgs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
