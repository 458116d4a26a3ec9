#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts what a bare GPU machine needs into one folder: the programs and tests of a build (-DFOURWALLS_GLOO=OFF keeps it
# small), the libraries that such a machine does not have, and the benchmark with its inputs.
# Usage: cuda_bundle.sh BUILD FOLDER.  Then there:  FOLDER/fourwalls-cli …, FOLDER/run tests_profiler_engine_gpu gpu_operators,
# and so on.
set -e
build=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$out/bin" "$out/lib" "$out/tests/bench" "$out/resources/presets/models"
for program in fourwalls-cli libfourwalls_cuda.so libfourwalls_collector.so cupti_replay \
    tests_profiler_engine_gpu; do
    file=$(find "$build" -name "$program" -type f | head -n 1)
    [ -z "$file" ] && continue
    cp "$file" "$out/bin/"
    strip --strip-unneeded "$out/bin/$program"
    # Not the C and C++ libraries: a machine with nvcc has newer ones.
    ldd "$file" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux|libstdc\+\+|libgcc_s)[-.]' | while read -r library; do
        cp -Ln "$library" "$out/lib/" 2>/dev/null || true
    done
done
cp "$here"/cuda_against_pytorch.py "$here"/collector_on_gpu.py "$here"/gpt_12x1024.json "$out/tests/bench/"
cp "$root"/resources/presets/models/resnet50.json "$out/resources/presets/models/"
cat > "$out/run" <<'RUN'
#!/bin/sh
folder=$(cd "$(dirname "$0")" && pwd)
name=$1
shift
LD_LIBRARY_PATH="$folder/lib:$LD_LIBRARY_PATH" exec "$folder/bin/$name" "$@"
RUN
cat > "$out/fourwalls-cli" <<'RUN'
#!/bin/sh
exec "$(dirname "$0")/run" fourwalls-cli "$@"
RUN
chmod +x "$out/run" "$out/fourwalls-cli"
du -sh "$out"
