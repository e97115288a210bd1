//! A step of gradient descent for a family of models.

use crate::family::{Family, columns};
use crate::share::Share;
use crate::training::Training;
use crate::turns::Turns;
use crate::{Setting, done};

/// Measures a step of the family at the given size.
pub(crate) fn breadth(name: &str, size: &str, turns: Turns, setting: &Setting, share: Option<&Share>) {
    let family = done(Family::read(name));
    let (made, warm) = (done(family.made(size)), family.warm(size));
    let training = Training {
        source: family.source(),
        data: columns(&made, warm),
        batch: family.batch(size),
        set: done(family.set(size)),
        report: None,
        warm,
        metric: "loss",
    };
    if let Some(share) = share {
        training.save(setting, &share.path("safetensors"));
        for column in &made {
            share.numbers(&column.name, &column.values);
        }
    }
    training.run(turns, setting);
}
