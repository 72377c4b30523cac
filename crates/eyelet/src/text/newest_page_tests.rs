use super::{Hit, NewestPage};

fn hit(path: &str, modified: i128) -> Hit {
    Hit { path: path.to_owned(), modified: Some(modified) }
}

#[test]
fn a_page_is_sorted_by_time_then_by_path() {
    let mut newest = NewestPage::new(2, 2);
    for (path, modified) in [("e", 1), ("b", 5), ("a", 5), ("c", 9), ("d", 5)] {
        newest.add(hit(path, modified));
    }
    assert_eq!(newest.seen(), 5);
    assert_eq!(newest.into_page(), (vec!["a".to_owned(), "b".to_owned()], Some(4)));
}

#[test]
fn a_file_that_is_gone_comes_first() {
    let mut newest = NewestPage::new(1, 1);
    newest.add(hit("a", i128::MAX));
    newest.add(Hit { path: "b".to_owned(), modified: None });
    assert_eq!(newest.into_page(), (vec!["b".to_owned()], Some(2)));
}

#[test]
fn the_cutoff_is_the_first_hit_after_the_page() {
    let mut newest = NewestPage::new(1, 2);
    for (path, modified) in [("a", 1), ("b", 2)] {
        newest.add(hit(path, modified));
        assert!(newest.cutoff().is_none());
    }
    newest.add(hit("c", 3));
    assert_eq!(newest.cutoff(), Some(&hit("a", 1)));
    newest.add(hit("d", 2));
    assert_eq!(newest.cutoff(), Some(&hit("d", 2)));
}

#[test]
fn a_page_without_end_has_no_cutoff() {
    let mut newest = NewestPage::new(u64::MAX, 2000);
    newest.add(hit("a", 1));
    assert!(newest.cutoff().is_none());
    assert_eq!(newest.into_page(), (vec![], None));
}
