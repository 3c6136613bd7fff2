//! Columns of text: the first to the left, numbers to the right.

/// A table with a head.
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Table {
    /// A table without rows, its columns by title; a title that begins with `>` is aligned to the right.
    pub fn new(head: &[&str]) -> Self {
        let right = head.iter().map(|title| title.starts_with('>')).collect();
        let head = head
            .iter()
            .map(|title| title.trim_start_matches('>').to_owned())
            .collect();
        Self {
            rows: vec![head],
            right,
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table, two spaces between columns, no trailing space.
    pub fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column > 0 {
                    line.push_str("  ");
                }
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                if self.right.get(column).copied().unwrap_or(false) {
                    line.push_str(&padding);
                    line.push_str(cell);
                } else {
                    line.push_str(cell);
                    line.push_str(&padding);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_columns() {
        let mut table = Table::new(&["name", ">GiB"]);
        table.row(["a".to_owned(), "10.00".to_owned()]);
        table.row(["longer".to_owned(), "1.00".to_owned()]);
        assert_eq!(
            table.text(),
            "name      GiB\na       10.00\nlonger   1.00\n"
        );
    }
}
