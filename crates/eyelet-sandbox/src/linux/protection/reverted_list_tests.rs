use super::*;

fn reverted(number: usize) -> Reverted {
    Reverted { path: format!("/{number}").into(), fate: Fate::PutBack }
}

#[test]
fn only_the_latest_changes_are_remembered_and_few_are_noted() {
    let mut list = RevertedList::default();
    let mut notes = 0;
    for number in 0..5000 {
        list.new.push(reverted(number));
        notes += list.take_unnoted().len();
        assert_eq!(list.tell(), [reverted(number)]);
    }
    assert_eq!(notes, MAX_REVERTED);
    let all = list.all(Vec::new());
    assert_eq!((all.len(), all.last()), (MAX_REVERTED, Some(&reverted(4999))));
}

#[test]
fn a_change_that_is_reverted_again_is_told_again_and_noted_once() {
    let mut list = RevertedList::new(vec![reverted(1)]);
    assert_eq!(list.take_unnoted(), [reverted(1)]);
    assert_eq!(list.take_unnoted(), []);
    assert_eq!(list.tell(), [reverted(1)]);
    assert_eq!(list.tell(), []);
    list.new.push(reverted(1));
    assert_eq!(list.take_unnoted(), []);
    assert_eq!(list.tell(), [reverted(1)]);
    assert_eq!(list.all(vec![reverted(1)]), [reverted(1)]);
}
