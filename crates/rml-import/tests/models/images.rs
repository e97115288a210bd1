//! Convolutions and pooling, whose channels the format has before the axes of an image.

use super::support::{Attr, Net, close, ramp};

#[test]
fn nothing_is_transposed_between_convolutions() {
    let net = Net::new(17)
        .input("x", &["1", "2", "4", "4"])
        .tensor("w1", &[3, 2, 3, 3], &[0.1; 54])
        .tensor("b1", &[3], &[1.0, 2.0, 3.0])
        .tensor("w2", &[1, 3, 3, 3], &[0.5; 27])
        .node("Conv", "x w1 b1", "c1", &[("pads", Attr::Ints(&[1, 1, 1, 1]))])
        .node("Relu", "c1", "r", &[])
        .node("MaxPool", "r", "p", &[("kernel_shape", Attr::Ints(&[2, 2])), ("strides", Attr::Ints(&[2, 2]))])
        .node("Conv", "p w2", "c2", &[("pads", Attr::Ints(&[1, 1, 1, 1]))])
        .node("GlobalAveragePool", "c2", "g", &[])
        .node("Flatten", "g", "y", &[])
        .output("y");
    let text = net.program().program;
    assert_eq!(text.matches("transpose(").count(), 1, "{text}");
}

#[test]
fn kernels_and_their_padding_are_those_of_the_format() {
    let net = |attrs: &[(&str, Attr<'_>)]| {
        Net::new(17)
            .input("x", &["1", "1", "4"])
            .tensor("w", &[1, 1, 3], &[1.0, 10.0, 100.0])
            .node("Conv", "x w", "y", attrs)
            .output("y")
            .y(ramp(&[1, 1, 4], 1.0))
    };
    close(&net(&[]), &[210.0, 321.0]);
    close(&net(&[("pads", Attr::Ints(&[1, 0]))]), &[100.0, 210.0, 321.0]);
    close(&net(&[("auto_pad", Attr::Text("SAME_UPPER")), ("strides", Attr::Ints(&[2]))]), &[210.0, 32.0]);
    close(&net(&[("auto_pad", Attr::Text("SAME_LOWER")), ("strides", Attr::Ints(&[2]))]), &[100.0, 321.0]);
    close(&net(&[("dilations", Attr::Ints(&[2])), ("pads", Attr::Ints(&[1, 0]))]), &[310.0]);
}

#[test]
fn a_transposed_convolution_spreads_its_operand() {
    let net = |attrs: &[(&str, Attr<'_>)]| {
        Net::new(17)
            .input("x", &["1", "1", "2"])
            .tensor("w", &[1, 1, 3], &[1.0, 10.0, 100.0])
            .node("ConvTranspose", "x w", "y", attrs)
            .output("y")
            .y(super::support::nums(&[1, 1, 2], &[1.0, 2.0]))
    };
    close(&net(&[]), &[1.0, 12.0, 120.0, 200.0]);
    close(&net(&[("strides", Attr::Ints(&[2])), ("pads", Attr::Ints(&[1, 0]))]), &[10.0, 102.0, 20.0, 200.0]);
    close(
        &net(&[("strides", Attr::Ints(&[2])), ("output_padding", Attr::Ints(&[1]))]),
        &[1.0, 10.0, 102.0, 20.0, 200.0, 0.0],
    );
}

#[test]
fn three_axes_are_sums_of_two() {
    let net = Net::new(17)
        .input("x", &["1", "1", "2", "2", "2"])
        .tensor("w", &[1, 1, 2, 2, 2], &[1.0; 8])
        .node("Conv", "x w", "y", &[("pads", Attr::Ints(&[1, 0, 0, 0, 0, 0]))])
        .output("y");
    // Of 0..8: the first slab, 0 + 1 + 2 + 3, then both.
    close(&net.y(ramp(&[1, 1, 2, 2, 2], 1.0)), &[6.0, 28.0]);
}

#[test]
fn padding_does_not_count_in_means() {
    let net = |attrs: &[(&str, Attr<'_>)]| {
        let shared: [(&str, Attr<'_>); 2] =
            [("kernel_shape", Attr::Ints(&[2])), ("pads", Attr::Ints(&[1, 0]))];
        let mut node = Net::new(19).input("x", &["1", "1", "3"]).node("AveragePool", "x", "y", &shared);
        for (name, value) in attrs {
            let attr = Net::new(19).node(
                "AveragePool",
                "x",
                "y",
                &[(
                    name,
                    match value {
                        Attr::Int(i) => Attr::Int(*i),
                        _ => panic!("an integer"),
                    },
                )],
            );
            node.graph.node[0].attribute.extend(attr.graph.node[0].attribute.clone());
        }
        node.output("y").y(super::support::nums(&[1, 1, 3], &[2.0, 4.0, 8.0]))
    };
    close(&net(&[]), &[2.0, 3.0, 6.0]);
    close(&net(&[("count_include_pad", Attr::Int(1))]), &[1.0, 3.0, 6.0]);
}

#[test]
fn wide_padding_and_dilation_pool_by_slices() {
    let net = Net::new(17)
        .input("x", &["1", "1", "5"])
        .node("MaxPool", "x", "y", &[("kernel_shape", Attr::Ints(&[2])), ("dilations", Attr::Ints(&[2]))])
        .output("y");
    close(&net.y(super::support::nums(&[1, 1, 5], &[5.0, 1.0, 2.0, 4.0, 3.0])), &[5.0, 4.0, 3.0]);
}

#[test]
fn images_are_repeated_and_interpolated() {
    let net = |mode: &str, coordinates: &str| {
        Net::new(13)
            .input("x", &["1", "1", "2"])
            .tensor("scales", &[3], &[1.0, 1.0, 2.0])
            .node(
                "Resize",
                "x - scales",
                "y",
                &[
                    ("mode", Attr::Text(mode)),
                    ("coordinate_transformation_mode", Attr::Text(coordinates)),
                    ("nearest_mode", Attr::Text("floor")),
                ],
            )
            .output("y")
            .y(super::support::nums(&[1, 1, 2], &[0.0, 4.0]))
    };
    close(&net("nearest", "asymmetric"), &[0.0, 0.0, 4.0, 4.0]);
    close(&net("linear", "half_pixel"), &[0.0, 1.0, 3.0, 4.0]);
    close(&net("linear", "align_corners"), &[0.0, 4.0 / 3.0, 8.0 / 3.0, 4.0]);
}
