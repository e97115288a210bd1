//! Operators that make one element of many.

super::table! {
    Reduction {
        Function "sum" "sum(x[, axes[, keep]])" "sum over an axis, several, or everything; 0 of nothing; an int that overflows is an error"
            "int or num; the axes are dropped, or with true have length 1"
            "dx = broadcast(shape(x), do with the axes kept)"
            "sum([[1, 2], [3, 4]], 0)" "[4, 6]";
        Function "mean" "mean(x[, axes[, keep]])" "mean over an axis, several, or everything; NaN of nothing"
            "num; the axes are dropped, or with true have length 1"
            "dx = broadcast(shape(x), do / n with the axes kept)"
            "mean([[1.0, 2.0], [3.0, 6.0]], [0, 1], true)" "[[3.0]]";
        Function "prod" "prod(x[, axes[, keep]])" "product over an axis, several, or everything, first to last; 1 of nothing"
            "num; the axes are dropped, or with true have length 1"
            "dx = do times the product of all elements but x, also where elements are 0"
            "prod([[1.0, 2.0], [3.0, 4.0]], 0)" "[3.0, 8.0]";
        Function "logsumexp" "logsumexp(x[, axes[, keep]])"
            "log(sum(exp(x))) over an axis, several, or everything, without overflow; -inf if all are -inf, and of nothing; equal \
             infinities share the gradient (where all are -inf it is NaN in JAX)"
            "num; the axes are dropped, or with true have length 1"
            "dx = p / sum(p) * do, with p = exp(where(x == o, 0.0, x - o)): the softmax of x"
            "logsumexp([0.0, 0.0])" "0.6931471806";
        Function "max" "max(x[, axes[, keep]])"
            "largest element along an axis, several, or everything; NaN wins; the gradient is shared evenly among equals"
            "int or num, at least one element; the axes are dropped, or with true have length 1"
            "dx = to_num(x == o) * do / how many are equal to o"
            "max([[1, 5], [3, 4]], 1)" "[5, 4]";
        Function "min" "min(x[, axes[, keep]])"
            "smallest element along an axis, several, or everything; NaN wins; the gradient is shared evenly among equals"
            "int or num, at least one element; the axes are dropped, or with true have length 1"
            "dx = to_num(x == o) * do / how many are equal to o"
            "min([[1, 5], [3, 4]], 1)" "[1, 3]";
        Function "argmax" "argmax(x[, axes[, keep]])"
            "position of the first largest element (row-major over several axes, or everything); NaN wins"
            "int or num, at least one element -> int; the axes are dropped, or with true have length 1" ""
            "argmax([1.0, 5.0, 5.0])" "1";
        Function "argmin" "argmin(x[, axes[, keep]])"
            "position of the first smallest element (row-major over several axes, or everything); NaN wins"
            "int or num, at least one element -> int; the axes are dropped, or with true have length 1" ""
            "argmin([2.0, 1.0, 1.0])" "1";
        Function "any" "any(x[, axes[, keep]])" "whether any element is true along an axis, several, or everything; false of nothing"
            "bool; the axes are dropped, or with true have length 1" ""
            "any([[true, false], [false, false]], 1)" "[true, false]";
        Function "all" "all(x[, axes[, keep]])" "whether all elements are true along an axis, several, or everything; true of nothing"
            "bool; the axes are dropped, or with true have length 1" ""
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
