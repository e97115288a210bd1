//! The xla backend: a library that is opened at run time. Empty without the feature `link`.
