//! Constants, draws, parameters, static information.

super::table! {
    Initialiser {
        Function "zeros" "zeros(shape)" "all 0.0" "-> num shape" "" "zeros([2])" "[0.0, 0.0]";
        Function "zeros_like" "zeros_like(x[, shape])"
            "all 0.0, 0 or false: zeros of the element type of variable x, and of its shape or another one"
            "any [s..] -> the same, or of that shape" "" "x = [true, false]; zeros_like(x)" "[false, false]";
        Function "ones" "ones(shape)" "all 1.0" "-> num shape" "" "ones([2])" "[1.0, 1.0]";
        Function "range" "range(n)" "0, 1, .. n - 1" "-> int [n]" "" "range(3)" "[0, 1, 2]";
        Function "glorot_uniform" "glorot_uniform(shape)"
            "uniform in ±sqrt(6 / (sum of the last two dimensions)); drawn once an instance"
            "-> num shape" "" "abs(glorot_uniform([3, 3])) <= ones([3, 3])" "ones([3, 3]) == 1.0";
        Function "orthogonal" "orthogonal(shape)"
            "orthonormal rows or columns, whichever are fewer; a vector has norm 1; drawn once an instance"
            "-> num shape" "" "k = orthogonal([2, 2]); matmul(k, transpose(k))" "[[1.0, 0.0], [0.0, 1.0]]";
        Function "uniform" "uniform(shape, lo, hi)" "uniform in lo..hi; drawn once an instance"
            "-> num shape" "" "uniform([2], 0.0, 1.0) < 1.0" "[true, true]";
        Function "normal" "normal(shape, mean, std)" "normal; drawn once an instance"
            "-> num shape" "" "abs(normal([2], 5.0, 0.001) - 5.0) < 0.1" "[true, true]";
    }
    Random {
        Function "random_uniform" "random_uniform(shape)"
            "uniform in 0..1, drawn again in each cycle; the same for the same seed, instance path and tick, which continues to count \
             from window to window"
            "-> num shape" "" "random_uniform([2]) < 1.0" "[true, true]";
        Function "random_normal" "random_normal(shape)"
            "standard normal, drawn again in each cycle; the same for the same seed, instance path and tick, which continues to count \
             from window to window"
            "-> num shape" "" "abs(random_normal([2])) < 100.0" "[true, true]";
    }
    Primitive {
        Function "param" "param(init)" "a named, trainable constant, init until it is trained or loaded"
            "num [s..] -> num [s..]"
            "o = diff_param(init, bp, do)"
            "param(zeros([2]))" "[0.0, 0.0]";
        Function "stop_gradient" "stop_gradient(x)" "x; no gradient passes"
            "any [s..] -> the same" "" "stop_gradient([1.0, 2.0])" "[1.0, 2.0]";
        Function "shape" "shape(x)" "the shape of stream x, a static array" "any" ""
            "x = zeros([2, 3]); shape(x)" "[2, 3]";
    }
}
