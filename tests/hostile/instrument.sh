#!/bin/sh
# Runs between cargo and rustc for the workspace's own crates, and adds what cargo-fuzz adds: a counter for each edge.
# Dependencies keep the artifacts that they have. The crate that counts is not counted.
case " $* " in
*" --crate-name omnigraph_hostile "*) exec "$@" ;;
*) exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters ;;
esac
