//! Flags that say how to read data files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rml::{ColumnMapping, Dialect, Recipe, Rest, Windowing};

use crate::output::Stop;
use crate::values;

/// The dialect of text tables, and the columns of each input.
#[derive(Args, Clone, Debug)]
pub(crate) struct Table {
    /// Read settings about data from this file: TOML whose keys are the names of flags, such as columns, separator,
    /// fill, standardise and window. Flags have priority
    #[arg(long, value_name = "FILE.toml", help_heading = "Data files")]
    pub(crate) mapping: Option<PathBuf>,
    /// Which columns feed an input: 'y=label', 'x=open,high,low' for a vector, 'x=p0..p63' from one column to another
    /// one, both included. By default the columns of its name. May be given several times
    #[arg(long, value_name = "INPUT=COLUMNS", help_heading = "Data files")]
    pub(crate) columns: Vec<String>,
    /// The format of the files, whatever their names. By default it follows the extension; for standard input, the
    /// first bytes
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Data files")]
    pub(crate) data_format: Option<DataFormat>,
    /// In tables of text: the character between cells, such as ';' or tab, or ' ' for any number of blanks. By default
    /// detected in each file
    #[arg(long, value_name = "CHAR|tab", alias = "sep", value_parser = Dialect::parse_separator, help_heading = "Data files")]
    pub(crate) separator: Option<char>,
    /// In tables of text: the decimal mark. By default detected in each file
    #[arg(long, value_name = ".|,", value_parser = Dialect::parse_decimal, help_heading = "Data files")]
    pub(crate) decimal: Option<char>,
    /// In tables of text: the character between groups of three digits. By default detected in each file
    #[arg(long, value_name = "CHAR", value_parser = Dialect::parse_thousands, help_heading = "Data files")]
    pub(crate) thousands: Option<char>,
    /// In tables of text: a cell that means a missing value, beside the empty cell, NA, N/A, null, None, ?, - and
    /// others. A number means all cells of its value. May be given several times; with '', NA and others have values
    #[arg(long, value_name = "TEXT", help_heading = "Data files", allow_hyphen_values = true)]
    pub(crate) missing: Vec<String>,
    /// In tables of text: the first line is a row. Columns are called 0, 1, ..
    #[arg(long, help_heading = "Data files", conflicts_with = "header")]
    pub(crate) no_header: bool,
    /// In tables of text: the first line names the columns, even if it holds numbers
    #[arg(long, help_heading = "Data files")]
    pub(crate) header: bool,
    /// In tables of text: the beginning of comment lines. By default detected in each file
    #[arg(long, value_name = "TEXT", value_parser = Dialect::parse_comment, help_heading = "Data files")]
    pub(crate) comment: Option<String>,
}

impl Table {
    /// The recipe of the mapping file, with the flags that concern reading.
    pub(crate) fn recipe(&self) -> Result<Recipe, Stop> {
        let dialect = Dialect {
            separator: self.separator,
            decimal: self.decimal,
            thousands: self.thousands,
            missing: (!self.missing.is_empty()).then(|| self.missing.clone()),
            header: if self.no_header { Some(false) } else { self.header.then_some(true) },
            comment: self.comment.clone(),
        };
        let flags = Recipe { columns: ColumnMapping::parse(&self.columns)?, dialect, ..Recipe::default() };
        let recipe = match &self.mapping {
            Some(file) => flags.or(Recipe::read(file)?),
            None => flags,
        };
        recipe.dialect.check()?;
        Ok(recipe)
    }

    /// The format of all files, if the flag is given.
    pub(crate) fn format(&self) -> Option<rml::Format> {
        self.data_format.map(|format| match format {
            DataFormat::Csv => rml::Format::Csv,
            DataFormat::Json => rml::Format::Json,
            DataFormat::Jsonl => rml::Format::JsonLines,
            DataFormat::Npz => rml::Format::Npz,
            DataFormat::Npy => rml::Format::Npy,
            DataFormat::Arrow => rml::Format::Arrow,
            DataFormat::Parquet => rml::Format::Parquet,
        })
    }

    /// The flags, each with whether it is given, for `refuse_unused`.
    pub(crate) fn given(&self) -> [(&'static str, bool); 10] {
        [
            ("mapping", self.mapping.is_some()),
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
    /// One JSON object per line
    Jsonl,
    /// An archive of NumPy arrays
    Npz,
    /// One NumPy array
    Npy,
    /// Arrow, Feather
    Arrow,
    /// Parquet
    Parquet,
}

/// How the rows of a long table become windows. Checkpoints record it.
#[derive(Args, Clone, Debug)]
pub(crate) struct Cutting {
    /// Rows of a table are cycles, and this many consecutive rows are a window. The last window of a series is shorter
    /// if rows remain. By default, a row is a window
    #[arg(long, value_name = "ROWS", value_parser = values::positive, help_heading = "Windows of a long table")]
    pub(crate) window: Option<usize>,
    /// With --window: how many rows after the start of one window the next one starts. By default, windows share no
    /// rows
    #[arg(long, value_name = "ROWS", value_parser = values::positive, help_heading = "Windows of a long table")]
    pub(crate) stride: Option<usize>,
    /// The column with the group of each row, such as a patient or an engine, or `file`, if no column has this name,
    /// for a group of each file. No window contains rows of two groups;
    /// without --window, each group is a window. --test and --validate keep whole groups, or with last: the last
    /// windows of each group
    #[arg(long, value_name = "COLUMN", help_heading = "Windows of a long table")]
    pub(crate) group: Option<String>,
    /// The column with the time of each row: dates such as 2024-03-31 23:05, or numbers, in seconds or another unit.
    /// The rows of a group are in the order of this column
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

/// The treatment of the rows after the last whole window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum RestArg {
    /// They are a shorter window
    Keep,
    /// They are in no window
    Drop,
}

impl Cutting {
    /// The cut that the flags describe.
    pub(crate) fn cut(&self) -> Windowing {
        Windowing {
            window: self.window,
            stride: self.stride,
            group: self.group.clone(),
            time: self.time.clone(),
            gap: self.gap,
            end: self.end.clone(),
            rest: self.rest.map(|rest| if rest == RestArg::Keep { Rest::Keep } else { Rest::Drop }),
        }
    }

    /// The flags, each with whether it is given, for `refuse_unused`.
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

/// How the columns of a training are prepared for their inputs. Checkpoints record it.
#[derive(Args, Clone, Debug)]
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
    /// `reading` with the preparation that the flags describe.
    pub(crate) fn recipe(&self, reading: Recipe) -> Result<Recipe, Stop> {
        Ok(Recipe {
            classes: Recipe::parse_classes(&self.classes)?,
            fills: Recipe::parse_fills(&self.fill)?,
            standardised: self.standardise.clone(),
            ..Recipe::default()
        }
        .or(reading))
    }

    /// The flags, each with whether it is given, for `refuse_unused`.
    pub(crate) fn given(&self) -> [(&'static str, bool); 3] {
        [
            ("classes", !self.classes.is_empty()),
            ("fill", !self.fill.is_empty()),
            ("standardise", !self.standardise.is_empty()),
        ]
    }
}
