//! Finds the directory that a command enters before it does anything else.

/// Characters that a shell expands. What they stand for is not known.
const EXPANDED: &[char] = &['$', '`', '*', '?', '[', '{', '(', '\\'];

/// `DIR` of `cd DIR && …`, `cd DIR; …` and a first line `cd DIR`.
pub(crate) fn find(command: &str) -> Option<&str> {
    let rest = command.trim_start().strip_prefix("cd ")?.trim_start();
    let (directory, rest) = match rest.chars().next().filter(|first| matches!(first, '"' | '\'')) {
        Some(quote) => rest.get(1..)?.split_once(quote)?,
        None => rest.split_at_checked(rest.find([' ', '\t', '\n', ';', '&', '|'])?)?,
    };
    let rest = rest.trim_start_matches([' ', '\t']);
    let continues = ["&&", ";", "\n"].iter().any(|operator| rest.starts_with(operator));
    let is_plain = !directory.is_empty() && !directory.contains(EXPANDED);
    (continues && is_plain && directory != "-").then_some(directory)
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn the_directory_that_a_command_enters_first_is_found() {
        for (command, directory) in [
            ("cd /a/b && touch x", "/a/b"),
            ("  cd ~/a; ls", "~/a"),
            ("cd ..\nls", ".."),
            ("cd 'a b' && ls", "a b"),
            ("cd \"/a b\" ; ls", "/a b"),
        ] {
            assert_eq!(find(command), Some(directory), "{command}");
        }
        for command in [
            "ls && cd /a",
            "cd",
            "cd /a",
            "cd && ls",
            "cd - && ls",
            "cd $HOME && ls",
            "cd /a/* && ls",
            "cd /a || ls",
            "cd /a & ls",
            "cd 'a && ls",
        ] {
            assert_eq!(find(command), None, "{command}");
        }
    }
}
