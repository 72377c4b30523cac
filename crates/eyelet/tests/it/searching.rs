//! How the tests of `grep_files` call it.

use std::ffi::OsString;

use expect_test::Expect;
use eyelet::{
    Environment, FunctionCallError, SandboxPolicy, SearchEngine, ToolInvocation, ToolRouter,
    TurnContext,
};
use testkit::TempTree;

/// A turn in the tree, with a home directory next to it and `rg` on `PATH`. The policy is `full`, so `rg`
/// may be in a temp directory.
pub(crate) fn turn(tree: &TempTree) -> TurnContext {
    turn_with(tree, [])
}

/// The same with more variables.
pub(crate) fn turn_with<const N: usize>(
    tree: &TempTree,
    more: [(&str, OsString); N],
) -> TurnContext {
    let rg = testkit::rg().canonicalize().expect("it is there");
    let path = rg.parent().expect("it is a file").into();
    let own = [("HOME", tree.beside().into()), ("PATH", path)];
    let environment: Environment = own.into_iter().chain(more).collect();
    TurnContext::new(tree.path(), SandboxPolicy::Full)
        .expect("the path is absolute")
        .with_environment(environment)
}

/// One call through the router in the function dialect, as text. `/repo` replaces the path of the
/// tree in the arguments and in the result.
pub(crate) fn answer(tree: &TempTree, turn: &TurnContext, arguments: &str) -> String {
    let arguments = arguments.replace("/repo", tree.str());
    let outcome = ToolRouter::new().call(&ToolInvocation::new("grep_files", arguments, turn));
    let text = match outcome.and_then(|output| output.function()) {
        Ok(output) => format!("{}\nsuccess: {:?}", output.content, output.success),
        Err(FunctionCallError::RespondToModel(error)) => {
            format!("{error}\nerror: {}", error.code)
        }
        Err(fatal @ FunctionCallError::Fatal(_)) => panic!("{fatal}"),
    };
    tree.redact(&text)
}

/// Checks the result of both engines.
pub(crate) fn check(tree: &TempTree, arguments: &str, expected: Expect) {
    check_in(tree, &turn(tree), arguments, expected);
}

/// Checks the result of both engines in `turn`.
pub(crate) fn check_in(tree: &TempTree, turn: &TurnContext, arguments: &str, expected: Expect) {
    let embedded = answer(tree, turn, arguments);
    let turn = turn.clone().with_search_engine(SearchEngine::Rg);
    assert_eq!(embedded, answer(tree, &turn, arguments), "the engines differ");
    expected.assert_eq(&embedded);
}
