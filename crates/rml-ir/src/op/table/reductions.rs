//! What makes one element of many.

super::table! {
    Reduction {
        Function "sum" "sum(x[, axis])" "sum over an axis, or over everything; 0 of nothing; an int that overflows is an error"
            "int or num; the axis is dropped"
            "dx = broadcast(shape(x), do with the axis kept)"
            "sum([[1, 2], [3, 4]], 0)" "[4, 6]";
        Function "mean" "mean(x[, axis])" "mean over an axis, or over everything; NaN of nothing"
            "num; the axis is dropped"
            "dx = broadcast(shape(x), do / n with the axis kept)"
            "mean([1.0, 2.0, 6.0])" "3.0";
        Function "max" "max(x[, axis])"
            "largest element; NaN wins; the gradient is shared evenly among equals"
            "int or num, at least one element; the axis is dropped"
            "dx = to_num(x == o) * do / how many are equal to o"
            "max([[1, 5], [3, 4]], 1)" "[5, 4]";
        Function "min" "min(x[, axis])"
            "smallest element; NaN wins; the gradient is shared evenly among equals"
            "int or num, at least one element; the axis is dropped"
            "dx = to_num(x == o) * do / how many are equal to o"
            "min([[1, 5], [3, 4]], 1)" "[1, 3]";
        Function "argmax" "argmax(x[, axis])"
            "position of the first largest element (row-major over everything); NaN wins"
            "int or num, at least one element -> int; the axis is dropped" ""
            "argmax([1.0, 5.0, 5.0])" "1";
        Function "argmin" "argmin(x[, axis])"
            "position of the first smallest element (row-major over everything); NaN wins"
            "int or num, at least one element -> int; the axis is dropped" ""
            "argmin([2.0, 1.0, 1.0])" "1";
        Function "any" "any(x[, axis])" "whether any element is true; false of nothing"
            "bool; the axis is dropped" ""
            "any([[true, false], [false, false]], 1)" "[true, false]";
        Function "all" "all(x[, axis])" "whether all elements are true; true of nothing"
            "bool; the axis is dropped" ""
            "all([[true, false], [true, true]], 1)" "[false, true]";
        Function "cumsum" "cumsum(x[, axis[, reverse]])"
            "sums of the elements up to each one along an axis (0), it included; with true, of those from each one on; an int \
             that overflows is an error"
            "int or num [s..] -> the same"
            "dx = cumsum(do, axis, not reverse)"
            "cumsum([1, 2, 3])" "[1, 3, 6]";
        Function "sort" "sort(x[, axis[, descending]])"
            "the elements in order along an axis (the last), the smallest one first; with true, the largest one; equal elements, \
             and zeros of both signs, keep their order; NaN comes last in both directions"
            "int or num [s..] -> the same"
            "dx = sort_by(argsort(x, axis, descending), do, axis)"
            "sort([[3, 1, 2], [6, 4, 5]])" "[[1, 2, 3], [4, 5, 6]]";
        Function "argsort" "argsort(x[, axis[, descending]])"
            "the positions along an axis (the last) from which sort takes the elements"
            "int or num [s..] -> int [s..]" ""
            "argsort([2.0, 3.0, 1.0], 0, true)" "[1, 0, 2]";
        Function "sort_by" "sort_by(keys, x[, axis[, descending]])"
            "the elements of x in the order in which sort puts the keys"
            "int or num keys [s..] and x [s..] of any type -> x [s..]"
            "dx = sort_by(argsort(keys, axis, descending), do, axis)"
            "sort_by([2.0, 3.0, 1.0], [20, 30, 10])" "[10, 20, 30]";
        Function "softmax" "softmax(x)" "exp(x) / sum(exp(x)) over the last axis, without overflow"
            "num [s.., n] -> num [s.., n]"
            "dx = o * (do - sum(do * o) over the last axis)"
            "softmax([0.0, 0.0])" "[0.5, 0.5]";
        Function "log_softmax" "log_softmax(x)" "log(softmax(x)) over the last axis, without overflow"
            "num [s.., n] -> num [s.., n]"
            "dx = do - exp(o) * sum(do) over the last axis"
            "log_softmax([0.0, 0.0])" "[-0.6931471806, -0.6931471806]";
    }
}
