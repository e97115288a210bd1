//! Parses the main text and everything that it imports.

use bumpalo::Bump;
use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, FileId, Sources, Span};
use rml_syntax::ast::{File, Import, ImportPath};

use crate::options::{Loader, Options};
use crate::report::Report;
use crate::suggest::suggest;

/// All texts of a program.
pub(crate) struct Loaded<'a> {
    /// In the order in which their imports were done: what a file imports stands before it, the main file is last.
    pub(crate) files: Vec<LoadedFile<'a>>,
    /// The prelude.
    pub(crate) prelude: FileId,
    /// The main text.
    pub(crate) main: FileId,
}

/// A parsed text.
pub(crate) struct LoadedFile<'a> {
    pub(crate) id: FileId,
    pub(crate) ast: File<'a>,
    /// Its imports that were found.
    pub(crate) imports: Vec<(Import<'a>, FileId)>,
}

struct Load<'a, 'b> {
    bump: &'a Bump,
    names: &'b mut lasso::Rodeo,
    sources: &'b mut Sources,
    options: &'b Options,
    loader: &'b mut dyn Loader,
    report: &'b mut Report,
    /// Files that are parsed, by what identifies them.
    known: IndexMap<Key, FileId>,
    /// Files whose imports are being done, with the import that led to the next one.
    open: Vec<(FileId, Option<Span>)>,
    files: Vec<LoadedFile<'a>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Library(String),
    File(String),
}

/// Parses `main`, the prelude, and all imports. `None` if anything does not parse or is not found; the report says why.
pub(crate) fn load<'a>(
    bump: &'a Bump,
    names: &mut lasso::Rodeo,
    sources: &mut Sources,
    main: FileId,
    options: &Options,
    loader: &mut dyn Loader,
    report: &mut Report,
) -> Option<Loaded<'a>> {
    let prelude = sources.add("std/prelude.rml", options.prelude);
    let main_key = Key::File(sources.name(main).to_owned());
    let known = IndexMap::from([(main_key, main)]);
    let mut load =
        Load { bump, names, sources, options, loader, report, known, open: Vec::new(), files: Vec::new() };
    load.file(prelude);
    load.file(main);
    let files = load.files;
    (report.errors() == 0).then_some(Loaded { files, prelude, main })
}

impl<'a> Load<'a, '_> {
    /// Parses a text that is new, and what it imports.
    fn file(&mut self, id: FileId) {
        let text = self.sources.text(id).to_owned();
        let parsed = rml_syntax::parse(self.bump, self.names, id, &text);
        parsed.diagnostics.into_iter().for_each(|d| self.report.push(d));
        self.open.push((id, None));
        let mut imports = Vec::new();
        for import in parsed.file.imports() {
            if let Some(target) = self.import(id, import) {
                imports.push((*import, target));
            }
        }
        self.open.pop();
        self.files.push(LoadedFile { id, ast: parsed.file, imports });
    }

    fn import(&mut self, importing: FileId, import: &Import<'a>) -> Option<FileId> {
        if let Some(top) = self.open.last_mut() {
            top.1 = Some(import.span);
        }
        let (key, name, text) = match import.path {
            ImportPath::Library(path) => self.library(path, import.span)?,
            ImportPath::File { path, span } => {
                let from = self.sources.name(importing).to_owned();
                match self.loader.load(&from, path) {
                    Ok((name, text)) => (Key::File(name.clone()), name, text),
                    Err(why) => {
                        let d =
                            Diagnostic::error(codes::IMPORT_NOT_FOUND, format!("cannot import \"{path}\""))
                                .label(span, why);
                        self.report.push(d);
                        return None;
                    }
                }
            }
        };
        if let Some(&id) = self.known.get(&key) {
            if let Some(at) = self.open.iter().position(|(open, _)| *open == id) {
                self.cycle(at, import.span);
                return None;
            }
            return Some(id);
        }
        let id = self.sources.add(name, text);
        self.known.insert(key, id);
        self.file(id);
        Some(id)
    }

    fn library(&mut self, path: &[rml_syntax::ast::Ident], span: Span) -> Option<(Key, String, String)> {
        let parts: Vec<&str> = path.iter().map(|p| self.names.resolve(&p.name)).collect();
        let name = parts.join(".");
        let found = self.options.library.iter().find(|(n, _)| *n == name);
        if let Some((_, text)) = found {
            return Some((
                Key::Library(name.clone()),
                format!("{}.rml", parts.join("/")),
                (*text).to_owned(),
            ));
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
            Some(near) => d.help(format!("there is `{near}`")),
            None if !all.is_empty() => d.note(format!("the library has {}", all.join(", "))),
            None => d,
        };
        self.report.push(d.help("a file is imported by its path: `import \"cells.rml\";`"));
        None
    }

    fn cycle(&mut self, at: usize, span: Span) {
        let chain: Vec<&str> = self.open[at..].iter().map(|(f, _)| self.sources.name(*f)).collect();
        let first = chain.first().copied().unwrap_or("");
        let note = format!("{} -> {first}", chain.join(" -> "));
        let mut d = Diagnostic::error(codes::IMPORT_CYCLE, "files import each other in a circle")
            .label(span, format!("imports `{first}` again"));
        for (_, via) in &self.open[at..] {
            if let Some(via) = via
                && *via != span
            {
                d = d.label(*via, "by way of this import");
            }
        }
        self.report.push(d.note(note).help("move what both need into a file of its own"));
    }
}
