//! Text that is written line by line.

/// Lines, and the indentation of the next one.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.push_str(&"    ".repeat(self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Adds a line that ends with a brace, and indents the following lines.
    pub(crate) fn open(&mut self, line: impl AsRef<str>) {
        self.line(format!("{} {{", line.as_ref()).trim_start());
        self.depth += 1;
    }

    pub(crate) fn close(&mut self) {
        self.close_with("}");
    }

    pub(crate) fn close_with(&mut self, line: &str) {
        self.depth -= 1;
        self.line(line);
    }

    /// Adds a line that closes a block and opens the next one, such as `} else {`.
    pub(crate) fn turn(&mut self, line: &str) {
        self.depth -= 1;
        self.open(line);
    }

    /// Opens a loop over elements, unless there is only one element. Returns whether there is a loop.
    pub(crate) fn over(&mut self, index: &str, n: usize) -> bool {
        if n != 1 {
            self.open(format!("for (long {index} = 0; {index} < {n}; {index}++)"));
        }
        n != 1
    }

    /// Nested loops; returns their number.
    pub(crate) fn nest(&mut self, sizes: &[(String, usize)]) -> usize {
        sizes.iter().filter(|(index, n)| self.over(index, *n)).count()
    }

    pub(crate) fn close_all(&mut self, count: usize) {
        (0..count).for_each(|_| self.close());
    }

    /// Adds other lines, with the current indentation.
    pub(crate) fn paste(&mut self, other: &Lines) {
        other.text.lines().for_each(|line| self.line(line));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
