//! Takes the place of `sandboxed` without the feature `sandbox`: nobody can create settings, a request or a
//! supervised process, and policies that need a sandbox are refused.

pub(crate) mod settings {
    use std::sync::Arc;

    use crate::paths::root::Root;

    #[derive(Debug)]
    pub(crate) enum SandboxSettings {}

    impl SandboxSettings {
        pub(crate) fn private_temp_root(&self) -> Option<Arc<Root>> {
            match *self {}
        }

        pub(crate) fn for_another_session(&self) -> Self {
            match *self {}
        }

        pub(crate) fn network_in_words(&self) -> String {
            match *self {}
        }

        pub(crate) fn lacks_namespaces_for_hosts(&self) -> bool {
            match *self {}
        }

        pub(crate) fn has_writable(&self) -> bool {
            match *self {}
        }

        pub(crate) fn has_callers_network(&self) -> bool {
            match *self {}
        }

        pub(crate) fn end_session(&self) {
            match *self {}
        }
    }
}

pub(crate) mod sandbox_request {
    use std::path::Path;

    use crate::context::TurnContext;
    use crate::exec::refusal::Refusal;
    use crate::sandbox_policy::SandboxPolicy;

    pub(crate) enum SupervisedCommand {}

    impl SupervisedCommand {
        /// None if the policy is `full`.
        pub(crate) fn new(
            turn: &TurnContext,
            _command: &str,
            _directory: &Path,
        ) -> Result<Option<SupervisedCommand>, Refusal> {
            match turn.sandbox() {
                SandboxPolicy::Full => Ok(None),
                SandboxPolicy::Off | SandboxPolicy::ReadOnly | SandboxPolicy::WorkspaceWrite => {
                    let reason = "eyelet was built without the cargo feature `sandbox`";
                    Err(Refusal::Unavailable(reason.to_owned()))
                }
            }
        }
    }
}

pub(crate) mod supervised_process {
    use std::io;
    use std::os::fd::{BorrowedFd, OwnedFd};

    use crate::exec::refusal::Refusal;
    use crate::exec::sandbox_facts::SandboxFacts;
    use crate::exec::sandboxed::sandbox_request::SupervisedCommand;
    use crate::fs::directory::Directory;
    use crate::text::blocked::Blocked;
    use crate::text::reverted::Reverted;

    pub(crate) enum SupervisedProcess {}

    impl SupervisedProcess {
        pub(crate) fn start(
            command: &SupervisedCommand,
            _directory: &Directory,
        ) -> io::Result<(Self, [Option<OwnedFd>; 2])> {
            match *command {}
        }

        pub(crate) fn handle(&self) -> Option<BorrowedFd<'_>> {
            match *self {}
        }

        pub(crate) fn ask_to_end(&self) {
            match *self {}
        }

        pub(crate) fn ask_to_interrupt(&self) {
            match *self {}
        }

        pub(crate) fn has_ended(&mut self) -> Result<bool, Refusal> {
            match *self {}
        }

        pub(crate) fn is_gone(&mut self) -> Result<bool, Refusal> {
            match *self {}
        }

        pub(crate) fn finish(&mut self) -> Option<i32> {
            match *self {}
        }

        pub(crate) fn start_unconfirmed(&self) -> Option<Refusal> {
            match *self {}
        }

        pub(crate) fn take_kill_reason(&mut self) -> Option<String> {
            match *self {}
        }

        pub(crate) fn sandbox_facts(&self) -> Option<SandboxFacts> {
            match *self {}
        }

        pub(crate) fn blocked(&self) -> Vec<Blocked> {
            match *self {}
        }

        pub(crate) fn take_reverted(&mut self) -> Vec<Reverted> {
            match *self {}
        }

        pub(crate) fn newly_reverted(&mut self) -> Vec<Reverted> {
            match *self {}
        }
    }
}
