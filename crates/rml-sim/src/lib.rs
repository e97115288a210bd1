//! The event-driven simulator of R(ML)2 and a naive fixpoint oracle.
