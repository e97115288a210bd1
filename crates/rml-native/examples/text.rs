fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let plan = rml_plan::parse(&text).unwrap();
    println!("{}", rml_nest::print(&rml_nest::fuse(&rml_nest::lower(&plan))));
    let c = rml_native::Native::text(&plan).unwrap();
    println!("{}", &c[c.find("typedef struct {\n    num *nums").unwrap()..]);
}
