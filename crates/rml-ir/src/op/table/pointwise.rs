//! Operators that work element by element.

super::table! {
    Infix {
        Infix "+" "a + b" "sum; an int that overflows is an error"
            "int or num, both the same; broadcast"
            "da = sum_to(shape(a), do); db = sum_to(shape(b), do)"
            "[1, 2] + 10" "[11, 12]";
        Infix "-" "a - b, -a" "difference, negation; an int that overflows is an error"
            "int or num, both the same; broadcast"
            "da = sum_to(shape(a), do); db = -sum_to(shape(b), do)"
            "[1.0, 2.0] - 0.5" "[0.5, 1.5]";
        Infix "*" "a * b" "product, element by element; an int that overflows is an error"
            "int or num, both the same; broadcast"
            "da = sum_to(shape(a), b * do); db = sum_to(shape(b), a * do)"
            "[2, 3] * [10, 100]" "[20, 300]";
        Infix "/" "a / b" "quotient; int truncates toward zero, and n / 0 is 0"
            "int or num, both the same; broadcast"
            "da = sum_to(shape(a), do / b); db = -sum_to(shape(b), do * o) / b"
            "[7, -7, 7] / [2, 2, 0]" "[3, -3, 0]";
        Infix "==" "a == b" "whether elements are equal; NaN equals nothing"
            "any, both the same -> bool; broadcast" "" "[1, 2] == 2" "[false, true]";
        Infix "!=" "a != b" "whether elements differ" "any, both the same -> bool; broadcast" ""
            "[1, 2] != 2" "[true, false]";
        Infix "<" "a < b" "less than" "int or num, both the same -> bool; broadcast" ""
            "[1.0, 2.0] < 2.0" "[true, false]";
        Infix "<=" "a <= b" "at most" "int or num, both the same -> bool; broadcast" ""
            "[1.0, 2.0] <= 1.0" "[true, false]";
        Infix ">" "a > b" "greater than" "int or num, both the same -> bool; broadcast" ""
            "[1, 2] > 1" "[false, true]";
        Infix ">=" "a >= b" "at least" "int or num, both the same -> bool; broadcast" ""
            "[1, 2] >= 2" "[false, true]";
        Infix "and" "a and b" "conjunction; both operands are computed" "bool; broadcast" ""
            "[true, false] and true" "[true, false]";
        Infix "or" "a or b" "disjunction; both operands are computed" "bool; broadcast" ""
            "[true, false] or false" "[true, false]";
        Prefix "not" "not a" "negation" "bool [s..] -> bool [s..]" ""
            "not [true, false]" "[false, true]";
    }
    Elementary {
        Function "exp" "exp(x)" "exponential function" "num [s..] -> num [s..]"
            "dx = do * o" "exp(0.0)" "1.0";
        Function "expm1" "expm1(x)" "exp(x) - 1, exact near 0" "num [s..] -> num [s..]"
            "dx = do * (o + 1.0)" "expm1(0.0)" "0.0";
        Function "log" "log(x)" "natural logarithm; NaN below 0, -inf at 0" "num [s..] -> num [s..]"
            "dx = do / x" "log([1.0, 2.718281828])" "[0.0, 1.0]";
        Function "log1p" "log1p(x)" "log(1 + x), exact near 0; NaN below -1, -inf at -1"
            "num [s..] -> num [s..]"
            "dx = do / (1.0 + x)" "log1p(0.0)" "0.0";
        Function "sqrt" "sqrt(x)" "square root; NaN below 0" "num [s..] -> num [s..]"
            "dx = do * 0.5 / o" "sqrt([4.0, 9.0])" "[2.0, 3.0]";
        Function "sin" "sin(x)" "sine; NaN of infinities" "num [s..] -> num [s..]"
            "dx = do * cos(x)" "sin([0.0, 0.5])" "[0.0, 0.4794255386]";
        Function "cos" "cos(x)" "cosine; NaN of infinities" "num [s..] -> num [s..]"
            "dx = -do * sin(x)" "cos([0.0, 0.5])" "[1.0, 0.8775825619]";
        Function "erf" "erf(x)" "error function" "num [s..] -> num [s..]"
            "dx = do * 1.1283791670955126 * exp(-(x * x))" "erf([0.0, 0.5])" "[0.0, 0.5204998778]";
        Function "abs" "abs(x)" "absolute value; gradient 0 at 0; the least int is an error"
            "int or num [s..] -> the same"
            "dx = do * sign(x)" "abs([-2, 3])" "[2, 3]";
        Function "sign" "sign(x)" "-1, 0 or 1; NaN of NaN" "int or num [s..] -> the same" ""
            "sign([-2.5, 0.0, 3.0])" "[-1.0, 0.0, 1.0]";
        Function "floor" "floor(x)" "the largest integer that is at most x, as a num" "num [s..] -> num [s..]" ""
            "floor([1.5, -1.5])" "[1.0, -2.0]";
        Function "ceil" "ceil(x)" "the smallest integer that is at least x, as a num" "num [s..] -> num [s..]" ""
            "ceil([1.5, -1.5])" "[2.0, -1.0]";
        Function "round" "round(x)" "the nearest integer, as a num; halves go to the even one"
            "num [s..] -> num [s..]" ""
            "round([0.5, 1.5, -1.2])" "[0.0, 2.0, -1.0]";
        Function "sigmoid" "sigmoid(x)" "1 / (1 + exp(-x)), without overflow" "num [s..] -> num [s..]"
            "dx = do * o * (1.0 - o)" "sigmoid(0.0)" "0.5";
        Function "tanh" "tanh(x)" "hyperbolic tangent" "num [s..] -> num [s..]"
            "dx = do * (1.0 - o * o)" "tanh(0.5)" "0.4621171573";
        Function "relu" "relu(x)" "x where x > 0, else 0, also for NaN; gradient 0 at 0" "num [s..] -> num [s..]"
            "dx = do * to_num(x > 0.0)" "relu([-1.0, 2.0])" "[0.0, 2.0]";
        Function "flush" "flush(x)"
            "x, and 0 where |x| is below 2^-103, with --f64 below 2^-970, so that nothing stays subnormal in a recurrence"
            "num [s..] -> num [s..]" "dx = do" "flush([0.5, 1e-35])" "[0.5, 0.0]";
        Function "gelu" "gelu(x)" "0.5 x (1 + erf(x / sqrt(2))), the exact form" "num [s..] -> num [s..]"
            "dx = do * (0.5 * (1.0 + erf(x * 0.7071067811865476)) + x * exp(-0.5 * (x * x)) * 0.3989422804014327)"
            "gelu([-1.0, 0.0, 1.0])" "[-0.1586552539, 0.0, 0.8413447461]";
        Function "softplus" "softplus(x)" "log(1 + exp(x)), without overflow" "num [s..] -> num [s..]"
            "dx = do * sigmoid(x)" "softplus([0.0, 100.0])" "[0.6931471806, 100.0]";
        Function "pow" "pow(a, b)" "a to the power of b; NaN below 0 unless b is an integer; the gradient in b is 0 at a = 0"
            "num; broadcast"
            "da = sum_to(shape(a), do * b * pow(a, where(b == 0.0, 0.0, b - 1.0))); \
             db = sum_to(shape(b), do * o * log(where(a == 0.0, 1.0, a)))"
            "pow([2.0, 9.0], [3.0, 0.5])" "[8.0, 3.0]";
        Function "mod" "mod(a, b)"
            "remainder with the sign of b; of ints mod(n, 0) is n, of nums mod(x, 0.0) is NaN"
            "int or num, both the same; broadcast"
            "da = sum_to(shape(a), do); db = -sum_to(shape(b), do * floor(a / b))"
            "mod([7.5, -1.0, 7.0], 4.0)" "[3.5, 3.0, 3.0]";
        Function "atan2" "atan2(y, x)"
            "angle of the point (x, y) in -pi .. pi, with the sign of y; the gradient is 0 at the origin (NaN in JAX)"
            "num; broadcast"
            "with m = maximum(abs(y), abs(x)), or 1.0 where that is 0.0, v = y / m, u = x / m and q = maximum(u * u + v * v, 1.0): \
             dy = sum_to(shape(y), do * u / q / m); dx = -sum_to(shape(x), do * v / q / m)"
            "atan2([1.0, 0.0], [1.0, -1.0])" "[0.7853981634, 3.1415926536]";
        Function "logaddexp" "logaddexp(a, b)"
            "log(exp(a) + exp(b)), without overflow; -inf of two -inf, else inf if one is inf; equals, infinite ones too, share \
             the gradient (of two -inf it is NaN in JAX)"
            "num; broadcast"
            "da = sum_to(shape(a), do * sigmoid(where(a == b, 0.0, a - b))); \
             db = sum_to(shape(b), do * sigmoid(where(b == a, 0.0, b - a)))"
            "logaddexp([0.0, 100.0], 0.0)" "[0.6931471806, 100.0]";
        Function "minimum" "minimum(a, b)" "the smaller one; NaN wins; equals share the gradient"
            "int or num, both the same; broadcast"
            "da = sum_to(shape(a), do * 0.5 * (to_num(a <= b) + to_num(a < b))); db likewise"
            "minimum([1.0, 5.0], 3.0)" "[1.0, 3.0]";
        Function "maximum" "maximum(a, b)" "the larger one; NaN wins; equals share the gradient"
            "int or num, both the same; broadcast"
            "da = sum_to(shape(a), do * 0.5 * (to_num(a >= b) + to_num(a > b))); db likewise"
            "maximum([1, 5], 3)" "[3, 5]";
        Function "clip" "clip(x, lo, hi)" "minimum(maximum(x, lo), hi); NaN wins"
            "int or num, all the same; broadcast"
            "dx = sum_to(shape(x), where(x >= lo and x <= hi, do, 0.0)); \
             dlo = sum_to(shape(lo), where(x < lo and lo <= hi, do, 0.0)); \
             dhi = sum_to(shape(hi), where(x > hi or lo > hi, do, 0.0))"
            "clip([-2.0, 0.5, 2.0], -1.0, 1.0)" "[-1.0, 0.5, 1.0]";
        Function "where" "where(c, a, b)" "a where c is true, else b, element by element; all operands are computed"
            "bool, and any, both the same; broadcast"
            "da = sum_to(shape(a), where(c, do, 0.0)); db = sum_to(shape(b), where(c, 0.0, do))"
            "where([true, false], [1, 2], 0)" "[1, 0]";
    }
    Conversion {
        Function "to_num" "to_num(x)" "true is 1.0; integers are rounded to the nearest number"
            "bool or int [s..] -> num [s..]" "" "to_num([1, 2])" "[1.0, 2.0]";
        Function "to_int" "to_int(x)"
            "true is 1; numbers are truncated toward zero; a case of an enumeration is its number; what does not fit is an error"
            "bool or num [s..] -> int [s..]" "" "to_int([1.9, -1.9])" "[1, -1]";
        Function "to_bool" "to_bool(x)" "whether it differs from 0"
            "int or num [s..] -> bool [s..]" "" "to_bool([0, 5])" "[false, true]";
    }
}
