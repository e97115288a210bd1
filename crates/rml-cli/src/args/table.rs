//! Flags that say how data files are read.

use clap::Args;
use rml::{ColumnMapping, Dialect, Selection};

use crate::output::Stop;
use crate::values;

/// How tables in text files are written, and which columns feed which inputs.
#[derive(Args, Debug)]
pub(crate) struct Table {
    /// Which columns feed an input: 'y=label', 'x=open,high,low' for a vector, 'x=p0..p63' from one column to another
    /// one, both included. By default the columns of its name. May be given several times
    #[arg(long, value_name = "INPUT=COLUMNS", help_heading = "Data files")]
    pub(crate) columns: Vec<String>,
    /// In tables of text: what separates cells, such as ';' or tab. By default found in each file
    #[arg(long, value_name = "CHAR|tab", value_parser = values::separator, help_heading = "Data files")]
    pub(crate) separator: Option<char>,
    /// In tables of text: what precedes the fraction of a number. By default found in each file
    #[arg(long, value_name = ".|,", value_parser = values::decimal, help_heading = "Data files")]
    pub(crate) decimal: Option<char>,
    /// In tables of text: what separates groups of three digits. By default found in each file
    #[arg(long, value_name = "CHAR", value_parser = values::thousands, help_heading = "Data files")]
    pub(crate) thousands: Option<char>,
    /// In tables of text: a cell that has no value, beside the empty one. May be given several times; by default NA,
    /// N/A, #N/A, null, None, ?, - and others
    #[arg(long, value_name = "TEXT", help_heading = "Data files", allow_hyphen_values = true)]
    pub(crate) missing: Vec<String>,
    /// In tables of text: the first line is a row. Columns are called 0, 1, ..
    #[arg(long, help_heading = "Data files", conflicts_with = "header")]
    pub(crate) no_header: bool,
    /// In tables of text: the first line names the columns, even if it holds numbers
    #[arg(long, help_heading = "Data files")]
    pub(crate) header: bool,
    /// In tables of text: what a line begins with that is a comment. By default found in each file
    #[arg(long, value_name = "TEXT", value_parser = values::comment, help_heading = "Data files")]
    pub(crate) comment: Option<String>,
}

impl Table {
    /// What is read of data files that may have those columns, and how.
    pub(crate) fn selection(&self, columns: Selection) -> Result<Selection, Stop> {
        let dialect = Dialect {
            separator: self.separator,
            decimal: self.decimal,
            thousands: self.thousands,
            missing: (!self.missing.is_empty()).then(|| self.missing.clone()),
            header: if self.no_header { Some(false) } else { self.header.then_some(true) },
            comment: self.comment.clone(),
        };
        dialect.check()?;
        Ok(columns.written(dialect).mapped(ColumnMapping::parse(&self.columns)?)?)
    }

    /// Whether flags are given, for `refuse_unused`.
    pub(crate) fn given(&self) -> [(&'static str, bool); 8] {
        [
            ("columns", !self.columns.is_empty()),
            ("separator", self.separator.is_some()),
            ("decimal", self.decimal.is_some()),
            ("thousands", self.thousands.is_some()),
            ("missing", !self.missing.is_empty()),
            ("no-header", self.no_header),
            ("header", self.header),
            ("comment", self.comment.is_some()),
        ]
    }
}
