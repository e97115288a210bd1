//! Parses the main text and all its imports.

use bumpalo::Bump;
use indexmap::IndexMap;
use rml_base::codes::{elab as codes, syntax};
use rml_base::{Diagnostic, FileId, MAX_TEXT, Sources, Span, suggest};
use rml_syntax::ast::{File, Import, ImportPath};

use crate::habits;
use crate::options::{Loader, NotLoaded, Options};
use crate::report::Report;

/// All texts of a program.
pub(crate) struct Loaded<'a> {
    /// In the order in which their imports were completed: an imported file comes before the importing one, and the
    /// main file is last.
    pub(crate) files: Vec<LoadedFile<'a>>,
    /// The prelude.
    pub(crate) prelude: FileId,
    /// The main text.
    pub(crate) main: FileId,
    /// The embedded library.
    pub(crate) library: &'static [(&'static str, &'static str)],
}

/// A parsed text.
pub(crate) struct LoadedFile<'a> {
    pub(crate) id: FileId,
    pub(crate) ast: File<'a>,
    /// The imports of the text that were found, with the imported texts.
    pub(crate) imports: Vec<(Import<'a>, FileId)>,
    /// The text, if it is a module of the library or the prelude.
    pub(crate) library: Option<&'static str>,
    /// Whether the text imports a whole text that was not found or that could not be processed completely.
    pub(crate) incomplete: bool,
}

impl LoadedFile<'_> {
    /// The lists of columns: the input, and the place of the list.
    pub(crate) fn columns(&self, names: &lasso::Rodeo) -> impl Iterator<Item = (String, Span)> {
        self.ast.columns().map(|of| (names.resolve(&of.input.name).to_owned(), of.span))
    }
}

struct Load<'a, 'b> {
    bump: &'a Bump,
    names: &'b mut lasso::Rodeo,
    sources: &'b mut Sources,
    options: &'b Options,
    loader: &'b mut dyn Loader,
    report: &'b mut Report,
    /// The parsed files, by their keys.
    known: IndexMap<Key, FileId>,
    /// The files whose imports are being processed, outermost first.
    open: Vec<Open<'a>>,
    files: Vec<LoadedFile<'a>>,
}

/// A parsed text whose imports are being processed.
struct Open<'a> {
    file: LoadedFile<'a>,
    /// The imports that remain.
    rest: std::vec::IntoIter<&'a Import<'a>>,
    /// The current import.
    current: Option<&'a Import<'a>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Library(String),
    File(String),
}

/// Parses `main`, the prelude, and all imports. Texts that do not parse or are not found are omitted; the report says
/// why.
pub(crate) fn load<'a>(
    bump: &'a Bump,
    names: &mut lasso::Rodeo,
    sources: &mut Sources,
    main: FileId,
    options: &Options,
    loader: &mut dyn Loader,
    report: &mut Report,
) -> Loaded<'a> {
    let prelude = sources.add("std/prelude.rml", options.prelude);
    let main_key = Key::File(sources.name(main).to_owned());
    let known = IndexMap::from([(main_key, main)]);
    let mut load =
        Load { bump, names, sources, options, loader, report, known, open: Vec::new(), files: Vec::new() };
    load.file(prelude, Some(options.prelude));
    load.file(main, None);
    Loaded { files: load.files, prelude, main, library: options.library }
}

impl<'a> Load<'a, '_> {
    /// Parses a new text and its imports. Files in progress are kept on an explicit stack, so that chains of imports
    /// can have any length.
    fn file(&mut self, id: FileId, library: Option<&'static str>) {
        self.enter(id, library);
        while let Some(top) = self.open.last_mut() {
            let importing = top.file.id;
            top.current = top.rest.next();
            match top.current {
                Some(import) => self.import(importing, import),
                None => self.files.extend(self.open.pop().map(|open| open.file)),
            }
        }
    }

    fn enter(&mut self, id: FileId, library: Option<&'static str>) {
        let text = self.sources.text(id).to_owned();
        let parsed = rml_syntax::parse(self.bump, self.names, id, &text);
        parsed.diagnostics.into_iter().for_each(|d| self.report.push(d));
        let imports: Vec<_> = parsed.file.imports().collect();
        self.open.push(Open {
            file: LoadedFile {
                id,
                ast: parsed.file,
                imports: Vec::new(),
                library,
                incomplete: parsed.file.lost_import,
            },
            rest: imports.into_iter(),
            current: None,
        });
    }

    /// Finds the text that the file on top of the stack imports, and opens it if it is new.
    fn import(&mut self, importing: FileId, import: &'a Import<'a>) {
        let Some((key, name, text)) = self.find(importing, import) else { return self.incomplete() };
        let known = self.known.get(&key).copied();
        if let Some(at) = known.and_then(|id| self.open.iter().position(|open| open.file.id == id)) {
            self.incomplete();
            return self.cycle(at, import.span);
        }
        let id = known.unwrap_or_else(|| self.sources.add(name, text));
        if let Some(top) = self.open.last_mut() {
            top.file.imports.push((*import, id));
        }
        if known.is_none() {
            let library = match &key {
                Key::Library(name) => self.module(name),
                Key::File(_) => None,
            };
            self.known.insert(key, id);
            self.enter(id, library);
        }
    }

    /// Notes that the file on top of the stack lacks an import.
    fn incomplete(&mut self) {
        if let Some(top) = self.open.last_mut() {
            top.file.incomplete = true;
        }
    }

    /// The key of an imported text, its name, and the text itself.
    fn find(&mut self, importing: FileId, import: &Import<'a>) -> Option<(Key, String, String)> {
        match import.path {
            ImportPath::Library(path) => self.library(path, import.span),
            ImportPath::File { path, span } => {
                let from = self.sources.name(importing).to_owned();
                match self.loader.load(&from, path) {
                    Ok((name, text)) => Some((Key::File(name.clone()), name, text)),
                    Err(why) => {
                        self.report.push(not_imported(path, span, why));
                        None
                    }
                }
            }
        }
    }

    /// The text of a module of the library.
    fn module(&self, name: &str) -> Option<&'static str> {
        self.options.library.iter().find_map(|(n, text)| (*n == name).then_some(*text))
    }

    fn library(&mut self, path: &[rml_syntax::ast::Ident], span: Span) -> Option<(Key, String, String)> {
        let parts: Vec<&str> = path.iter().map(|p| self.names.resolve(&p.name)).collect();
        let name = parts.join(".");
        if let Some(text) = self.module(&name) {
            let file = format!("{}.rml", parts.join("/"));
            return Some((Key::Library(name), file, text.to_owned()));
        }
        let place = match (path.first(), path.last()) {
            (Some(a), Some(b)) => a.span.to(b.span),
            _ => span,
        };
        let mut d =
            Diagnostic::error(codes::IMPORT_NOT_FOUND, format!("there is no library module `{name}`"))
                .label(place, "not found");
        let all: Vec<&str> = self.options.library.iter().map(|(n, _)| *n).collect();
        d = match suggest(&name, all.iter().copied()) {
            Some(near) => d.fix(format!("there is `{near}`"), place, near),
            None if !all.is_empty() => d.note(format!("the library has {}", all.join(", "))),
            None => d,
        };
        let inside =
            all.iter().find(|module| module.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.')));
        self.report.push(match (inside, habits::module(&name)) {
            (Some(module), _) => {
                d.help(format!("import the modules by their whole names: `import {module};`"))
            }
            (None, Some(help)) => d.help(help),
            (None, None) => d.help("a file is imported by its path: `import \"cells.rml\";`"),
        });
        None
    }

    fn cycle(&mut self, at: usize, span: Span) {
        let open = &self.open[at..];
        let chain: Vec<&str> = open.iter().map(|open| self.sources.name(open.file.id)).collect();
        let first = chain.first().copied().unwrap_or("");
        let note = format!("{} -> {first}", chain.join(" -> "));
        let mut d = Diagnostic::error(codes::IMPORT_CYCLE, "files import each other in a circle")
            .label(span, format!("imports `{first}` again"));
        for via in open.iter().filter_map(|open| open.current).filter(|via| via.span != span) {
            d = d.label(via.span, "through this import");
        }
        self.report.push(d.note(note).help("move the nodes that both need into a third file"));
    }
}

fn not_imported(path: &str, span: Span, why: NotLoaded) -> Diagnostic {
    let what = format!("cannot import \"{path}\"");
    match why {
        NotLoaded::TooLarge => Diagnostic::error(syntax::FILE_TOO_LARGE, what)
            .label(span, format!("it has more than {MAX_TEXT} bytes, so it is not a program")),
        NotLoaded::Unreadable(why) => Diagnostic::error(codes::IMPORT_NOT_FOUND, what).label(span, why),
    }
}
