//! Flags that say how data files are read.

use clap::{Args, ValueEnum};
use rml::{ColumnMapping, Cut, Dialect, Recipe, Rest};

use crate::output::Stop;
use crate::values;

/// How tables in text files are written, and which columns feed which inputs.
#[derive(Args, Debug)]
pub(crate) struct Table {
    /// Which columns feed an input: 'y=label', 'x=open,high,low' for a vector, 'x=p0..p63' from one column to another
    /// one, both included. By default the columns of its name. May be given several times
    #[arg(long, value_name = "INPUT=COLUMNS", help_heading = "Data files")]
    pub(crate) columns: Vec<String>,
    /// The format of the files, whatever they are called. By default as the extension says; of standard input, as the
    /// first bytes say
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Data files")]
    pub(crate) data_format: Option<DataFormat>,
    /// In tables of text: what separates cells, such as ';' or tab, or ' ' for any number of blanks. By default found
    /// in each file
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
    /// How columns become inputs, as far as it is about reading.
    pub(crate) fn recipe(&self) -> Result<Recipe, Stop> {
        let dialect = Dialect {
            separator: self.separator,
            decimal: self.decimal,
            thousands: self.thousands,
            missing: (!self.missing.is_empty()).then(|| self.missing.clone()),
            header: if self.no_header { Some(false) } else { self.header.then_some(true) },
            comment: self.comment.clone(),
        };
        dialect.check()?;
        Ok(Recipe { columns: ColumnMapping::parse(&self.columns)?, dialect, ..Recipe::default() })
    }

    /// The format of all files, if it is given.
    pub(crate) fn format(&self) -> Option<rml::Format> {
        self.data_format.map(|format| match format {
            DataFormat::Csv => rml::Format::Csv,
            DataFormat::Json => rml::Format::Json,
            DataFormat::Jsonl => rml::Format::JsonLines,
            DataFormat::Npz => rml::Format::Npz,
            DataFormat::Npy => rml::Format::Npy,
            DataFormat::Parquet => rml::Format::Parquet,
        })
    }

    /// Whether flags are given, for `refuse_unused`.
    pub(crate) fn given(&self) -> [(&'static str, bool); 9] {
        [
            ("columns", !self.columns.is_empty()),
            ("data-format", self.data_format.is_some()),
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

/// The formats of data files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DataFormat {
    /// A table in text, of any dialect
    Csv,
    /// One JSON document
    Json,
    /// One JSON object a line
    Jsonl,
    /// An archive of NumPy arrays
    Npz,
    /// One NumPy array
    Npy,
    /// Parquet
    Parquet,
}

/// How the rows of a long table become windows. Checkpoints record it.
#[derive(Args, Debug)]
pub(crate) struct Cutting {
    /// The rows of a table are cycles, and that many in a row are a window. The last window of a series is shorter if
    /// rows are left. By default, a row is a window
    #[arg(long, value_name = "ROWS", value_parser = values::positive, help_heading = "Windows of a long table")]
    pub(crate) window: Option<usize>,
    /// With --window: how many rows after one window the next one begins. By default, windows share no rows
    #[arg(long, value_name = "ROWS", value_parser = values::positive, help_heading = "Windows of a long table")]
    pub(crate) stride: Option<usize>,
    /// The column that says to which group a row belongs, such as a patient or an engine. No window has rows of two
    /// groups; without --window, each group is a window. --test and --validate keep groups, or the last: windows of
    /// each
    #[arg(long, value_name = "COLUMN", help_heading = "Windows of a long table")]
    pub(crate) group: Option<String>,
    /// The column that says when a row was: dates such as 2024-03-31 23:05, or numbers, in seconds or another unit.
    /// The rows of a group are in its order
    #[arg(long, value_name = "COLUMN", help_heading = "Windows of a long table")]
    pub(crate) time: Option<String>,
    /// No window has two rows in a row that are further apart in time: 30s, 15min, 1h, 2d, or a number in the unit of
    /// the column. Without --window, the rows from one such gap to the next are a window
    #[arg(long, value_name = "DURATION", value_parser = values::gap, help_heading = "Windows of a long table")]
    pub(crate) gap: Option<f64>,
    /// The column that is true in the last row of each window
    #[arg(long, value_name = "COLUMN", help_heading = "Windows of a long table")]
    pub(crate) end: Option<String>,
    /// What happens to the rows after the last whole window of a series: they are a shorter window, or in no window.
    /// By default they are dropped if windows overlap, and kept otherwise
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Windows of a long table")]
    pub(crate) rest: Option<RestArg>,
}

/// What happens to the rest of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum RestArg {
    /// It is a shorter window
    Keep,
    /// It is in no window
    Drop,
}

impl Cutting {
    /// The cut that the flags say.
    pub(crate) fn cut(&self) -> Cut {
        Cut {
            window: self.window,
            stride: self.stride,
            group: self.group.clone(),
            time: self.time.clone(),
            gap: self.gap,
            end: self.end.clone(),
            rest: self.rest.map(|rest| if rest == RestArg::Keep { Rest::Keep } else { Rest::Drop }),
        }
    }

    /// Whether flags are given, for `refuse_unused`.
    pub(crate) fn given(&self) -> [(&'static str, bool); 7] {
        [
            ("window", self.window.is_some()),
            ("stride", self.stride.is_some()),
            ("group", self.group.is_some()),
            ("time", self.time.is_some()),
            ("gap", self.gap.is_some()),
            ("end", self.end.is_some()),
            ("rest", self.rest.is_some()),
        ]
    }
}

/// What happens to the columns of a training before they reach their inputs. Checkpoints record it.
#[derive(Args, Debug)]
pub(crate) struct Preparing {
    /// The classes of an integer input whose column holds texts, in the order of their numbers: 'y=cat,dog'. By default
    /// all texts of the column, sorted. May be given several times
    #[arg(long, value_name = "INPUT=CLASSES", help_heading = "Data files")]
    pub(crate) classes: Vec<String>,
    /// What stands where an input has no value, or NaN: 'x=0', or 'x=mean' for the mean of the windows that are trained
    /// on, or the name of a class. By default that is an error. May be given several times
    #[arg(long, value_name = "INPUT=VALUE|mean", help_heading = "Data files")]
    pub(crate) fill: Vec<String>,
    /// Bring the elements of an input to the mean 0 and the standard deviation 1 in the windows that are trained on.
    /// May be given several times
    #[arg(long, value_name = "INPUT", alias = "standardize", help_heading = "Data files")]
    pub(crate) standardise: Vec<String>,
}

impl Preparing {
    /// The recipe, with what is read by it.
    pub(crate) fn recipe(&self, reading: Recipe) -> Result<Recipe, Stop> {
        Ok(Recipe {
            classes: Recipe::parse_classes(&self.classes)?,
            fills: Recipe::parse_fills(&self.fill)?,
            standardised: self.standardise.clone(),
            ..reading
        })
    }

    /// Whether flags are given, for `refuse_unused`.
    pub(crate) fn given(&self) -> [(&'static str, bool); 3] {
        [
            ("classes", !self.classes.is_empty()),
            ("fill", !self.fill.is_empty()),
            ("standardise", !self.standardise.is_empty()),
        ]
    }
}
