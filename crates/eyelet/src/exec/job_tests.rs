use super::*;
use crate::text::reverted::Fate;

fn reverted(number: usize) -> Reverted {
    Reverted { path: format!("/{number}").into(), fate: Fate::PutBack }
}

#[test]
fn only_the_latest_reverted_changes_are_remembered() {
    let mut state = State::default();
    for number in 0..5000 {
        state.add_reverted(vec![reverted(number)]);
    }
    for list in [&state.reverted, &state.untold] {
        assert_eq!(list.len(), MAX_REVERTED);
        assert_eq!(list.last(), Some(&reverted(4999)));
    }
}

#[test]
fn a_change_that_is_reverted_again_is_told_again_and_listed_once() {
    let mut state = State::default();
    state.add_reverted(vec![reverted(1)]);
    state.untold.clear();
    state.add_reverted(vec![reverted(1)]);
    assert_eq!((state.reverted, state.untold), (vec![reverted(1)], vec![reverted(1)]));
}
