/// Policy by which a GPU keeps the work of streams apart.
#pragma once

namespace ziggurat::app {

/// Has the driver keep 32 streams apart, which is the most; else it is 8, and streams beyond them stand
/// behind each other's work. A transfer between GPUs that waits for another rank would then hold up what that
/// rank waits for. A value that the user has set (CUDA_DEVICE_MAX_CONNECTIONS) stays. Before anything of
/// CUDA; nothing where the build has no GPUs.
void choose_stream_policy();

}  // namespace ziggurat::app
