use super::{Hit, NewestPage, PageUnit};

fn hit(path: &str, modified: i128) -> Hit {
    Hit { path: path.to_owned(), modified: Some(modified), lines: 1 }
}

fn page(offset: u64, limit: u64) -> NewestPage {
    NewestPage::new(offset, limit, PageUnit::Files)
}

fn paths(newest: NewestPage) -> (Vec<String>, Option<u64>) {
    let (hits, next) = newest.into_page();
    (hits.into_iter().map(|hit| hit.path).collect(), next)
}

#[test]
fn a_page_is_sorted_by_time_then_by_path() {
    let mut newest = page(2, 2);
    for (path, modified) in [("e", 1), ("b", 5), ("a", 5), ("c", 9), ("d", 5)] {
        newest.add(hit(path, modified));
    }
    assert_eq!(newest.seen(), 5);
    assert_eq!(paths(newest), (vec!["a".to_owned(), "b".to_owned()], Some(4)));
}

#[test]
fn a_file_that_is_gone_comes_first() {
    let mut newest = page(1, 1);
    newest.add(hit("a", i128::MAX));
    newest.add(Hit { path: "b".to_owned(), modified: None, lines: 1 });
    assert_eq!(paths(newest), (vec!["b".to_owned()], Some(2)));
}

#[test]
fn the_cutoff_is_the_first_hit_after_the_page() {
    let mut newest = page(1, 2);
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
    let mut newest = page(u64::MAX, 2000);
    newest.add(hit("a", 1));
    assert!(newest.cutoff().is_none());
    assert_eq!(paths(newest), (vec![], None));
}

#[test]
fn a_page_of_lines_ends_within_a_file() {
    let lines = |path: &str, modified, lines| Hit { lines, ..hit(path, modified) };
    let fill = |offset, limit| {
        let mut newest = NewestPage::new(offset, limit, PageUnit::Lines);
        for file in [lines("c", 1, 5), lines("a", 3, 3), lines("b", 2, 4)] {
            newest.add(file);
        }
        assert_eq!(newest.seen(), 12);
        let (hits, next) = newest.into_page();
        let hits: Vec<_> = hits.into_iter().map(|hit| (hit.path, hit.on_page)).collect();
        (hits, next)
    };
    assert_eq!(fill(1, 2), (vec![("a".to_owned(), 0..2)], Some(3)));
    assert_eq!(fill(3, 2), (vec![("a".to_owned(), 2..3), ("b".to_owned(), 0..1)], Some(5)));
    assert_eq!(fill(8, 99), (vec![("c".to_owned(), 0..5)], None));
    assert_eq!(fill(13, 1), (vec![], None));
}

#[test]
fn merged_pages_are_one_page() {
    let mut newest = page(1, 2);
    let mut other = newest.empty();
    newest.add(hit("a", 1));
    newest.add(hit("d", 4));
    for (path, modified) in [("b", 2), ("c", 3), ("e", 5), ("f", 0)] {
        other.add(hit(path, modified));
    }
    newest.merge(other);
    assert_eq!(newest.seen(), 6);
    assert_eq!(paths(newest), (vec!["e".to_owned(), "d".to_owned()], Some(3)));
}
