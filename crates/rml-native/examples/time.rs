use std::sync::Arc;
use std::time::Instant;

use rml_executor::{Executor, Next, Wish};
use rml_ir::{DType, Data};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let plan = Arc::new(rml_plan::parse(&std::fs::read_to_string(&args[1]).unwrap()).unwrap());
    let ticks: usize = args[2].parse().unwrap();
    let native = rml_native::Native::open(&Default::default()).unwrap();
    let which = args.get(3).map_or("both", |s| s.as_str());
    let mut runs = Vec::new();
    for (name, e) in [("cpu", &rml_backend_cpu::Cpu as &dyn Executor), ("native", &native)] {
        if which != "both" && which != name {
            continue;
        }
        let mut run = e.prepare(&plan, &Wish::default()).unwrap().start(None).unwrap();
        run.ask(ticks).unwrap();
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        let mut data = Vec::new();
        for (input, ty) in &plan.inputs {
            let n = ty.shape.len() * ticks;
            data.push(match ty.dtype {
                DType::Num => Data::F32((0..n).map(|_| next()).collect()),
                DType::Int => Data::Int((0..n).map(|i| (i % 10) as i64).collect()),
                DType::Bool => Data::Bool((0..n).map(|t| t + 1 == n && &**input == "end").collect()),
            });
        }
        runs.push((name, run, f64::MAX, data));
    }
    for _ in 0..std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(40) {
        for (_, run, least, data) in &mut runs {
            for _ in 0..std::env::var("N").ok().map_or(10, |_| 1) {
                run.next(Next::Window(ticks));
                for (i, data) in data.iter().enumerate() {
                    run.set_rows(i, ticks, &|_| true, data, 0);
                }
                let start = Instant::now();
                run.window(ticks).unwrap();
                *least = least.min(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    for (name, run, least, _) in &mut runs {
        let regs: Vec<_> = (0..plan.registers.len()).map(|r| run.register(r)).collect();
        let bits: u64 = regs.iter().flatten().fold(0, |h: u64, v| match v.to_host().unwrap().to_data() {
            Data::F32(x) => x.iter().fold(h, |h, x| h.wrapping_mul(31).wrapping_add(x.to_bits() as u64)),
            _ => h,
        });
        if std::env::var("REGS").is_ok() {
            for v in regs.iter().flatten() {
                if let Data::F32(x) = v.to_host().unwrap().to_data() {
                    print!(" {:x}", x.iter().fold(0u32, |h, x| h.wrapping_mul(31).wrapping_add(x.to_bits())));
                }
            }
            println!();
        }
        println!("{name} {least:.4} ms {bits:x}");
    }
}
