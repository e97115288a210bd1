//! Shapes, parts, products.

super::table! {
    Layout {
        Function "transpose" "transpose(x[, perm])" "axes reversed, or the last ones in the order perm"
            "[s.., d0, .., dn] -> [s.., d(perm[0]), .., d(perm[n])]"
            "dx = transpose(do, inverse of perm)"
            "transpose([[1, 2], [3, 4]])" "[[1, 3], [2, 4]]";
        Function "reshape" "reshape(shape, x)" "the same elements, row-major, under another shape"
            "[s..] -> shape, of as many elements"
            "dx = reshape(shape(x), do)"
            "reshape([4], [[1, 2], [3, 4]])" "[1, 2, 3, 4]";
        Function "expand_dims" "expand_dims(x, axes)"
            "x with a new axis of length 1; axes is the axis of the result that is new, or an array of such axes; negatives count \
             back"
            "[s..] -> [s..] with the new axes"
            "dx = reshape(shape(x), do)"
            "expand_dims([1, 2], -1)" "[[1], [2]]";
        Function "broadcast" "broadcast(shape, x)" "repeated to a larger shape"
            "[s..] -> shape; dimensions of x are equal, 1 or missing on the left"
            "dx = sum_to(shape(x), do)"
            "broadcast([2, 2], [1, 2])" "[[1, 2], [1, 2]]";
        Function "sum_to" "sum_to(shape, x)"
            "the transpose of broadcast: sums what broadcasting from shape repeats"
            "int or num [s..] -> shape, which broadcasts to [s..]"
            "dx = broadcast(shape(x), do)"
            "sum_to([2], [[1, 2], [3, 4]])" "[4, 6]";
        Function "concat" "concat(a, b[, axis])" "joined along an axis (0)"
            "[s.., m, r..] and [s.., n, r..] -> [s.., m + n, r..]"
            "da = the first m entries of do along the axis; db = the others"
            "concat([1, 2], [3])" "[1, 2, 3]";
        Function "stack" "stack(axis, a, b, ..)" "operands stacked along a new axis"
            "n operands [s.., r..] -> [s.., n, r..]"
            "da = do at position 0 of the axis; db = do at position 1; ..."
            "stack(1, [1, 2], [3, 4])" "[[1, 3], [2, 4]]";
        Function "split" "a, b, .. = split(x[, axis])"
            "as many equal parts along an axis (0) as names stand on the left; x is the name of a variable"
            "[s.., n m, r..] -> n results [s.., m, r..]"
            "dx = the gradients of the parts, joined along the axis"
            "x = [1, 2, 3, 4]; a, b = split(x); a + b" "[4, 6]";
        Brackets "[..]" "[a, b, ..]" "operands stacked along a new first axis"
            "n operands [s..] -> [n, s..]"
            "da = do[0]; db = do[1]; ..."
            "x = [1.0, 2.0]; [x, x + 1.0]" "[[1.0, 2.0], [2.0, 3.0]]";
        Brackets "x[..]" "x[i, lo:hi:step, :, .., -1]"
            "static indexing: a position drops its axis, a slice keeps it (backwards if its step is negative), `..` skips axes, negatives count back"
            "[s..] -> the axes that are kept"
            "dx = unindex(shape(x), do, the entries)"
            "x = [[1, 2, 3], [4, 5, 6]]; x[::-1, 0:2]" "[[4, 5], [1, 2]]";
        Function "unindex" "unindex(shape, x, entry, ..)"
            "the transpose of indexing: zeros with x at the entries, which are those of an index"
            "what the entries pick -> shape"
            "dx = do[the entries]"
            "unindex([4], [1, 2], 0:4:2)" "[1, 0, 2, 0]";
        Function "gather" "gather(x, i[, axis])"
            "entries of x along an axis (0) at int positions; a position outside of the axis is an error"
            "[l.., n, r..] and int [s..] -> [l.., s.., r..]"
            "dx = scatter_add(shape(x), i, do[, axis])"
            "gather([[1, 2], [3, 4]], [1, 1, 0])" "[[3, 4], [3, 4], [1, 2]]";
        Function "scatter_add" "scatter_add(shape, i, d[, axis])"
            "the transpose of gather: zeros with the entries of d added at the positions i, in order"
            "int [s..] and int or num [l.., s.., r..] -> shape [l.., n, r..]"
            "dd = gather(do, i[, axis])"
            "scatter_add([3], [2, 0, 2], [1.0, 5.0, 10.0])" "[5.0, 0.0, 11.0]";
        Function "pick" "pick(x, i)"
            "element i of each row; a position outside of the row is an error"
            "[s.., n] and int [s..] -> [s..]"
            "dx = reshape([s.., 1], do) * one_hot(n, i)"
            "pick([[1.0, 2.0], [3.0, 4.0]], [1, 0])" "[2.0, 3.0]";
        Function "one_hot" "one_hot(n, i)"
            "1.0 at position i, else 0.0; only zeros for i outside 0..n (pick and gather make that an error)"
            "int [s..] -> num [s.., n]" ""
            "one_hot(3, [2, 0])" "[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]";
    }
    Product {
        Function "matmul" "matmul(a, b)"
            "matrix product by NumPy's rule; a vector is a row on the left, a column on the right; leading dimensions \
             are stacks of matrices and broadcast"
            "num [s.., m, k] x [s.., k, n] -> [s.., m, n]; [s.., m, k] x [k] -> [s.., m]; [k] x [s.., k, n] -> [s.., n]"
            "da = sum_to(shape(a), matmul(do, b')); db = sum_to(shape(b), matmul(a', do)), where ' swaps the last two axes"
            "matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])" "[3.0, 7.0]";
        Function "cholesky" "cholesky(a)"
            "the lower triangular l with matmul(l, l') = a, a symmetric matrix of which the lower triangle is read; NaN everywhere \
             if a is not positive definite; leading dimensions are stacks of matrices"
            "num [s.., n, n] -> num [s.., n, n]"
            "da = half(y + y') with y = solve(o', (solve(o', half(matmul(o', lower(do)))))'), where lower keeps the lower triangle, \
             half also halves the diagonal, and ' swaps the last two axes"
            "cholesky([[4.0, 2.0], [2.0, 5.0]])" "[[2.0, 0.0], [1.0, 2.0]]";
        Function "solve" "solve(a, b)"
            "the x with matmul(a, x) = b, by elimination with partial pivoting (of equal pivots the first one); a singular matrix \
             gives infinities and NaN; leading dimensions are stacks, which are equal"
            "num [s.., n, n] and num [s.., n, m], or a column [s.., n] -> the shape of b"
            "db = solve(a', do); da = -matmul(db, o'), where ' swaps the last two axes, and a column is a matrix with one column"
            "solve([[0.0, 2.0], [4.0, 0.0]], [2.0, 4.0])" "[1.0, 1.0]";
        Function "rfft" "rfft(x)"
            "the discrete Fourier transform of the last axis: the real and imaginary part of the frequencies 0 .. n / 2; in about \
             n log n steps if n is a power of two, else in n n"
            "num [s.., n] -> num [s.., n / 2 + 1, 2]"
            "dx = n * irfft(n, do / weights), where the weight of frequency 0, and of n / 2 if n is even, is 1, and the others' is 2"
            "rfft([3.0, 1.0])" "[[4.0, 0.0], [2.0, 0.0]]";
        Function "irfft" "irfft(n, y)"
            "the n numbers of which rfft makes y; the imaginary parts of frequency 0, and of n / 2 if n is even, do not count"
            "num [s.., n / 2 + 1, 2] -> num [s.., n]"
            "dy = rfft(do) * weights / n, with the weights of rfft"
            "irfft(2, [[4.0, 0.0], [2.0, 0.0]])" "[3.0, 1.0]";
        Function "einsum" "einsum(labels, a, b, ..)"
            "contraction: axes with the same letter have the same length, and products are summed over the letters that the result \
             lacks; each operand has a letter once; `..` stands for axes without a letter, which are aligned on the right; more than \
             two operands are contracted from left to right: the first with the second, the result with the third, and so on, each \
             time summed over the letters that neither later operands nor the result have"
            "num, with as many dimensions as letters -> num, of the letters behind `->`"
            "of two operands: da = einsum of do and b with the labels of a; repeated over the letters that only a has; db likewise"
            "einsum(\"ij,jk->ik\", [[1.0, 2.0], [3.0, 4.0]], [[1.0], [10.0]])" "[[21.0], [43.0]]";
        Function "conv1d" "conv1d(x, kernel[, stride[, padding[, dilation[, groups]]]])"
            "convolution over the axis before the channels (the kernel is not flipped); padding with zeros is a number or \
             [before, behind]; with groups, each part of the channels has its own part of the filters"
            "num [b.., n, c] and num [k, c / groups, f] -> num [b.., (n + padding - dilation (k - 1) - 1) / stride + 1, f]"
            "dx = conv1d_transpose(shape(x), do, kernel, ..); dkernel = conv1d_kernel(shape(kernel), x, do, ..)"
            "conv1d([[1.0], [2.0], [4.0]], [[[1.0]], [[10.0]]])" "[[21.0], [42.0]]";
        Function "conv2d" "conv2d(x, kernel[, stride[, padding[, dilation[, groups]]]])"
            "convolution over height and width, the two axes before the channels; stride and dilation are a number or \
             [of height, of width], padding a number or a pair of these: a number, or [before, behind]"
            "num [b.., h, w, c] and num [k, l, c / groups, f] -> num [b.., h', w', f], each as in conv1d"
            "dx = conv2d_transpose(shape(x), do, kernel, ..); dkernel = conv2d_kernel(shape(kernel), x, do, ..)"
            "conv2d(ones([3, 3, 1]), ones([2, 2, 1, 1]), 1, [[1, 0], 0])[.., 0]" "[[2.0, 2.0], [4.0, 4.0], [4.0, 4.0]]";
        Function "conv1d_transpose" "conv1d_transpose(shape, d, kernel[, stride[, padding[, dilation[, groups]]]])"
            "the transpose of conv1d in x, which has that shape: spreads d over windows"
            "num [b.., n', f] and num [k, c / groups, f] -> num shape [b.., n, c]"
            "dd = conv1d(do, kernel, ..); dkernel = conv1d_kernel(shape(kernel), do, d, ..)"
            "conv1d_transpose([4, 1], [[1.0], [2.0]], [[[1.0]], [[10.0]]], 2)" "[[1.0], [10.0], [2.0], [20.0]]";
        Function "conv2d_transpose" "conv2d_transpose(shape, d, kernel[, stride[, padding[, dilation[, groups]]]])"
            "the transpose of conv2d in x, which has that shape: spreads d over windows"
            "num [b.., h', w', f] and num [k, l, c / groups, f] -> num shape [b.., h, w, c]"
            "dd = conv2d(do, kernel, ..); dkernel = conv2d_kernel(shape(kernel), do, d, ..)"
            "conv2d_transpose([2, 2, 1], ones([1, 1, 1]), ones([2, 2, 1, 1]))[.., 0]" "[[1.0, 1.0], [1.0, 1.0]]";
        Function "conv1d_kernel" "conv1d_kernel(shape, x, d[, stride[, padding[, dilation[, groups]]]])"
            "the transpose of conv1d in the kernel, which has that shape: correlates x with d"
            "num [b.., n, c] and num [b.., n', f] -> num shape [k, c / groups, f]"
            "dx = conv1d_transpose(shape(x), d, do, ..); dd = conv1d(x, do, ..)"
            "conv1d_kernel([2, 1, 1], [[1.0], [2.0], [4.0]], [[1.0], [1.0]])" "[[[3.0]], [[6.0]]]";
        Function "conv2d_kernel" "conv2d_kernel(shape, x, d[, stride[, padding[, dilation[, groups]]]])"
            "the transpose of conv2d in the kernel, which has that shape: correlates x with d"
            "num [b.., h, w, c] and num [b.., h', w', f] -> num shape [k, l, c / groups, f]"
            "dx = conv2d_transpose(shape(x), d, do, ..); dd = conv2d(x, do, ..)"
            "conv2d_kernel([1, 1, 1, 1], ones([2, 2, 1]), ones([2, 2, 1]))" "[[[[4.0]]]]";
        Function "max_pool1d" "max_pool1d(x, size[, stride[, padding]])"
            "largest element of each window; the stride is the size unless given; padding, less than the size, does not \
             count; NaN wins; equals share the gradient"
            "num [b.., n, c] -> num [b.., (n + padding - size) / stride + 1, c]"
            "the windows patches1d(x, ..) that equal o get do in equal parts; dx = unpatches1d(shape(x), of these, ..)"
            "max_pool1d([[1.0], [3.0], [2.0], [0.0]], 2)" "[[3.0], [2.0]]";
        Function "max_pool2d" "max_pool2d(x, size[, stride[, padding]])"
            "largest element of each window of height and width; size and stride are a number or [of height, of width], \
             padding as in conv2d; otherwise as max_pool1d"
            "num [b.., h, w, c] -> num [b.., h', w', c]"
            "as max_pool1d, with patches2d and unpatches2d"
            "max_pool2d([[[1.0], [3.0]], [[2.0], [0.0]]], 2)" "[[[3.0]]]";
        Function "avg_pool1d" "avg_pool1d(x, size[, stride[, padding]])"
            "mean of each window; the stride is the size unless given; padding, less than the size, counts as zeros"
            "num [b.., n, c] -> num [b.., (n + padding - size) / stride + 1, c]"
            "dx = unpatches1d(shape(x), do / size repeated over the windows, ..)"
            "avg_pool1d([[1.0], [3.0], [2.0], [0.0]], 2)" "[[2.0], [1.0]]";
        Function "avg_pool2d" "avg_pool2d(x, size[, stride[, padding]])"
            "mean of each window of height and width; arguments as in max_pool2d, padding counts as zeros"
            "num [b.., h, w, c] -> num [b.., h', w', c]"
            "as avg_pool1d, with unpatches2d"
            "avg_pool2d([[[1.0], [3.0]], [[2.0], [0.0]]], 2)" "[[[1.5]]]";
        Function "patches1d" "patches1d(x, size[, stride[, padding]])"
            "the windows themselves; the stride is the size unless given; padding, less than the size, is zeros"
            "num [b.., n, c] -> num [b.., n', size, c]"
            "dx = unpatches1d(shape(x), do, ..)"
            "patches1d([[1.0], [2.0], [3.0]], 2, 1)[.., 0]" "[[1.0, 2.0], [2.0, 3.0]]";
        Function "patches2d" "patches2d(x, size[, stride[, padding]])"
            "the windows of height and width themselves; arguments as in max_pool2d, padding is zeros"
            "num [b.., h, w, c] -> num [b.., h', w', k, l, c]"
            "dx = unpatches2d(shape(x), do, ..)"
            "patches2d([[[1.0], [2.0]], [[3.0], [4.0]]], [1, 2])[.., 0]" "[[[[1.0, 2.0]]], [[[3.0, 4.0]]]]";
        Function "unpatches1d" "unpatches1d(shape, d, size[, stride[, padding]])"
            "the transpose of patches1d: adds windows up where they overlap"
            "num [b.., n', size, c] -> num shape [b.., n, c]"
            "dd = patches1d(do, ..)"
            "unpatches1d([3, 1], ones([2, 2, 1]), 2, 1)" "[[1.0], [2.0], [1.0]]";
        Function "unpatches2d" "unpatches2d(shape, d, size[, stride[, padding]])"
            "the transpose of patches2d: adds windows up where they overlap"
            "num [b.., h', w', k, l, c] -> num shape [b.., h, w, c]"
            "dd = patches2d(do, ..)"
            "unpatches2d([1, 3, 1], ones([1, 2, 1, 2, 1]), [1, 2], 1)[.., 0]" "[[1.0, 2.0, 1.0]]";
    }
}
