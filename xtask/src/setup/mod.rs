//! `cargo xtask setup xla|torch`: brings the library of a backend and builds the backend against it.
//!
//! What is fetched are wheels from the Python package index, pinned by version and hash ([`wheels`]). Everything goes
//! into one cache folder ([`cache`]): the wheels into `downloads/` ([`fetch`]), what is needed of them into `xla/` or
//! `torch/` ([`layout`]), beside that what is compiled there ([`xla`], [`torch`]), and at last the backend itself
//! ([`plugin`]). Each part is done once.

mod cache;
mod disk;
mod fetch;
mod layout;
mod plugin;
mod tools;
mod torch;
mod wheels;
mod xla;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) use cache::{VARIABLE, lock};
pub(crate) use plugin::command;

/// Variables of the environment.
type Environment = Vec<(&'static str, OsString)>;

/// How the folder of one backend is made.
pub(crate) struct Recipe {
    /// The backend's name and that of its folder in the cache.
    pub(crate) name: &'static str,
    /// The package that holds the backend, built with its feature `link`.
    pub(crate) package: &'static str,
    /// The file that the package builds and the folder `lib` receives.
    plugin: &'static str,
    /// Counts the changes of `place`, which make the folder again.
    revision: u32,
    /// What is fetched.
    wheels: &'static [wheels::Wheel],
    /// Where a member of a wheel goes, from the folder; `None`: it is not needed.
    place: fn(wheel: &wheels::Wheel, member: &str) -> Option<String>,
    /// Files that must be there after unpacking.
    required: &'static [&'static str],
    /// Compiles in the folder what the wheels lack; does nothing where that is done.
    complete: fn(folder: &Path) -> Result<(), String>,
    /// The environment in which the package finds the folder when it is built.
    environment: fn(folder: &Path) -> Result<Environment, String>,
}

/// The backends that need setting up.
pub(crate) const RECIPES: [&Recipe; 2] = [&xla::RECIPE, &torch::RECIPE];

/// The recipe of that name.
pub(crate) fn recipe(name: &str) -> Option<&'static Recipe> {
    RECIPES.into_iter().find(|r| r.name == name)
}

/// The cache folder that holds the folders of all backends.
pub(crate) fn cache_folder() -> Result<PathBuf, String> {
    cache::root(&cache::environment)
}

/// Sets a backend up; what is done already is left as it is. Gives the backend's folder.
pub(crate) fn setup(recipe: &Recipe) -> Result<PathBuf, String> {
    let start = Instant::now();
    tools::check_platform()?;
    tools::check_compiler()?;
    let root = cache_folder()?;
    let folder = root.join(recipe.name);
    println!("== setup {}: {}", recipe.name, folder.display());
    let _lock = cache::lock(&root, recipe.name)?;
    layout::ensure(recipe, &root)?;
    (recipe.complete)(&folder)?;
    plugin::build(recipe, &root)?;
    println!("== setup {}: ready after {:.1} s", recipe.name, start.elapsed().as_secs_f64());
    Ok(folder)
}
