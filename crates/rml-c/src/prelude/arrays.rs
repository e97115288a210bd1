//! Functions of arrays: sums, systems of equations, Fourier transforms, sorting and softmax.

use crate::functions::Entry;

/// A stable merge sort of keys of one type.
macro_rules! order {
    ($name:literal, $of:literal, $nan:literal) => {
        concat!(
            "/* The positions of n keys, which are so far apart, in order; equal ones stay in turn, and NaN comes last. */
static void ",
            $name,
            "(const ",
            $of,
            " *x, long n, long apart, bool down, long *order, long *spare) {
    for (long i = 0; i < n; i++) {
        order[i] = i;
    }
    for (long half = 1; half < n; half *= 2) {
        for (long from = 0; from < n; from += 2 * half) {
            const long middle = from + half < n ? from + half : n;
            const long end = middle + half < n ? middle + half : n;
            long left = from, right = middle;
            for (long i = from; i < end; i++) {
                bool first = left == middle;
                if (left < middle && right < end) {
                    const ",
            $of,
            " a = x[order[left] * apart], b = x[order[right] * apart];
                    first = (down ? b > a : b < a)",
            $nan,
            ";
                }
                spare[i] = first ? order[right++] : order[left++];
            }
        }
        for (long i = 0; i < n; i++) {
            order[i] = spare[i];
        }
    }
}
"
        )
    };
}

/// The table.
pub(super) const TABLE: &[Entry] = &[
    ("rml_sum", &[], "/* The sum of n numbers, which are so far apart: dealt to sixteen lanes, which are added pair by pair. */
static num rml_sum(const num *x, long n, long apart) {
    num lanes[16] = {0};
    long i = 0;
    for (; i + 16 <= n; i += 16) {
        for (long lane = 0; lane < 16; lane++) {
            lanes[lane] += x[(i + lane) * apart];
        }
    }
    for (long lane = 0; i + lane < n; lane++) {
        lanes[lane] += x[(i + lane) * apart];
    }
    for (long half = 8; half > 0; half /= 2) {
        for (long lane = 0; lane < half; lane++) {
            lanes[lane] += lanes[lane + half];
        }
    }
    return lanes[0];
}
"),
    ("rml_logsumexp", &["exp", "log"], "/* The logarithm of the sum of the exponentials of n numbers, which are so far apart. */
static num rml_logsumexp(const num *x, long n, long apart) {
    num most = -RML_INFINITY, all = 0;
    for (long i = 0; i < n; i++) {
        const num one = x[i * apart];
        most = one > most || one != one ? one : most;
    }
    most = most == RML_INFINITY || most == -RML_INFINITY ? 0 : most;
    for (long i = 0; i < n; i++) {
        all += {exp}(x[i * apart] - most);
    }
    return {log}(all) + most;
}
"),
    ("rml_cholesky", &["sqrt"], "/* The lower triangular factor of a matrix; NaN if it is not positive definite. */
static void rml_cholesky(const num *a, num *l, long n) {
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++) {
            num rest = j > i ? 0 : a[i * n + j];
            for (long k = 0; k < j && j <= i; k++) {
                rest = rest - l[i * n + k] * l[j * n + k];
            }
            if (j == i && !(rest > 0)) {
                for (long k = 0; k < n * n; k++) {
                    l[k] = RML_NAN;
                }
                return;
            }
            l[i * n + j] = j > i ? 0 : j == i ? {sqrt}(rest) : rest / l[j * n + j];
        }
    }
}
"),
    ("rml_solve", &[], "/* Makes m columns x the solutions of a x = x, by elimination with the first of the largest pivots. The matrix is used up. */
static void rml_solve(num *a, num *x, long n, long m) {
    for (long k = 0; k < n; k++) {
        long pivot = k;
        for (long i = k + 1; i < n; i++) {
            const num new = a[i * n + k], old = a[pivot * n + k];
            pivot = (new < 0 ? -new : new) > (old < 0 ? -old : old) ? i : pivot;
        }
        for (long j = 0; j < n && pivot != k; j++) {
            const num swapped = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = swapped;
        }
        for (long j = 0; j < m && pivot != k; j++) {
            const num swapped = x[k * m + j];
            x[k * m + j] = x[pivot * m + j];
            x[pivot * m + j] = swapped;
        }
        for (long i = k + 1; i < n; i++) {
            const num factor = a[i * n + k] / a[k * n + k];
            for (long j = k + 1; j < n; j++) {
                a[i * n + j] = a[i * n + j] - factor * a[k * n + j];
            }
            for (long j = 0; j < m; j++) {
                x[i * m + j] = x[i * m + j] - factor * x[k * m + j];
            }
        }
    }
    for (long i = n - 1; i >= 0; i--) {
        for (long c = 0; c < m; c++) {
            num rest = x[i * m + c];
            for (long j = i + 1; j < n; j++) {
                rest = rest - a[i * n + j] * x[j * m + c];
            }
            x[i * m + c] = rest / a[i * n + i];
        }
    }
}
"),
    ("rml_dft", &["sin", "cos"], "/* The discrete Fourier transform of n complex numbers; the room has six times as many: their parts, factors, and sums. */
static void rml_dft(num *room, long n, bool forward) {
    num *part[2] = {room, room + n};
    num *cosine = room + 2 * n, *sine = room + 3 * n;
    const num turn = (num)6.283185307179586;
    for (long k = 0; k < n; k++) {
        const num angle = turn * (num)k / (num)n;
        cosine[k] = {cos}(angle);
        sine[k] = forward ? -{sin}(angle) : {sin}(angle);
    }
    if ((n & (n - 1)) != 0) {
        for (long k = 0; k < n; k++) {
            num re = 0, im = 0;
            for (long j = 0; j < n; j++) {
                const long at = j * k % n;
                re = re + (part[0][j] * cosine[at] - part[1][j] * sine[at]);
                im = im + (part[0][j] * sine[at] + part[1][j] * cosine[at]);
            }
            room[4 * n + k] = re;
            room[5 * n + k] = im;
        }
        for (long i = 0; i < 2 * n; i++) {
            room[i] = room[4 * n + i];
        }
        return;
    }
    for (long i = 1, j = 0; i < n; i++) {
        long bit = n / 2;
        for (; (j & bit) != 0; bit /= 2) {
            j ^= bit;
        }
        j |= bit;
        for (long p = 0; p < 2 && i < j; p++) {
            const num swapped = part[p][i];
            part[p][i] = part[p][j];
            part[p][j] = swapped;
        }
    }
    for (long half = 1; half < n; half *= 2) {
        for (long start = 0; start < n; start += 2 * half) {
            for (long k = 0; k < half; k++) {
                const long a = start + k, b = a + half, at = k * (n / (2 * half));
                const num re = part[0][b] * cosine[at] - part[1][b] * sine[at];
                const num im = part[0][b] * sine[at] + part[1][b] * cosine[at];
                part[0][b] = part[0][a] - re;
                part[0][a] = part[0][a] + re;
                part[1][b] = part[1][a] - im;
                part[1][a] = part[1][a] + im;
            }
        }
    }
}
"),
    ("rml_rfft", &["rml_dft"], "/* The frequencies 0 to n / 2 of n numbers. */
static void rml_rfft(const num *x, num *y, num *room, long n) {
    for (long i = 0; i < n; i++) {
        room[i] = x[i];
        room[n + i] = 0;
    }
    rml_dft(room, n, true);
    for (long k = 0; k <= n / 2; k++) {
        y[2 * k] = room[k];
        y[2 * k + 1] = k == 0 || 2 * k == n ? 0 : room[n + k];
    }
}
"),
    ("rml_irfft", &["rml_dft"], "/* The n numbers of their frequencies 0 to n / 2. */
static void rml_irfft(const num *y, num *x, num *room, long n) {
    for (long k = 0; k < n; k++) {
        const long at = 2 * k <= n ? k : n - k;
        room[k] = y[2 * at];
        room[n + k] = k == 0 || 2 * k == n ? 0 : k == at ? y[2 * at + 1] : -y[2 * at + 1];
    }
    rml_dft(room, n, false);
    for (long i = 0; i < n; i++) {
        x[i] = room[i] / (num)n;
    }
}
"),
    ("rml_order", &[], order!("rml_order", "num", " || (b == b && a != a)")),
    ("rml_order_int", &[], order!("rml_order_int", "int64_t", "")),
    ("rml_softmax", &["rml_sum", "exp"], "/* Softmax of n numbers; the largest one is subtracted first. */
static void rml_softmax(const num *x, num *out, long n) {
    num most = x[0], all;
    for (long i = 1; i < n; i++) {
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    }
    for (long i = 0; i < n; i++) {
        out[i] = {exp}(x[i] - most);
    }
    all = rml_sum(out, n, 1);
    for (long i = 0; i < n; i++) {
        out[i] /= all;
    }
}
"),
    ("rml_log_softmax", &["rml_sum", "exp", "log"], "/* The logarithm of softmax of n numbers. */
static void rml_log_softmax(const num *x, num *out, long n) {
    num most = x[0], all;
    for (long i = 1; i < n; i++) {
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    }
    for (long i = 0; i < n; i++) {
        out[i] = {exp}(x[i] - most);
    }
    all = {log}(rml_sum(out, n, 1));
    for (long i = 0; i < n; i++) {
        out[i] = x[i] - most - all;
    }
}
"),
];
