//! Subcommands whose flags are built once they are asked for: most of a short call's start would
//! go into the help of commands that nobody called.

use std::ops::Deref;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The arguments of a subcommand.
#[derive(Debug)]
pub(crate) struct OnDemand<A>(A);

impl<A> Deref for OnDemand<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A: Args> Args for OnDemand<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| as_before(command, A::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| as_before(command, A::augment_args_for_update))
    }
}

/// What a subcommand says of itself stands, whatever the types of its arguments say of theirs.
fn as_before(command: Command, augment: fn(Command) -> Command) -> Command {
    let (about, long) = (command.get_about().cloned(), command.get_long_about().cloned());
    augment(command).about(Resettable::from(about)).long_about(Resettable::from(long))
}

impl<A: FromArgMatches> FromArgMatches for OnDemand<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        A::from_arg_matches(matches).map(OnDemand)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
