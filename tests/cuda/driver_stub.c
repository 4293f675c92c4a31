/* A libcuda.so.1 without a GPU, for cudnn_test alone: cuDNN opens the driver's library by its name before it says what it
 * supports, and gives it the code that it compiled before it says how much workspace that takes. Nothing runs.
 *
 * These are all the functions that cuDNN 9.19 looks for. */
enum { no_device = 100 };

#define NO_DEVICE(name) int name(void) { return no_device; }
#define DOES_NOTHING(name) int name(void) { return 0; }
#define GIVES_HANDLE(name) int name(void** handle) { static char object; *handle = &object; return 0; }
#define SAYS_ONE(name) int name(int* value) { *value = 1; return 0; }

GIVES_HANDLE(cuLibraryLoadData) GIVES_HANDLE(cuLibraryGetKernel) GIVES_HANDLE(cuModuleLoadData)
GIVES_HANDLE(cuModuleGetFunction)

DOES_NOTHING(cuLibraryUnload) DOES_NOTHING(cuKernelSetAttribute) DOES_NOTHING(cuFuncSetAttribute)
DOES_NOTHING(cuModuleUnload)

SAYS_ONE(cuKernelGetAttribute) SAYS_ONE(cuFuncGetAttribute)
SAYS_ONE(cuOccupancyMaxActiveBlocksPerMultiprocessor)

NO_DEVICE(cuCtxGetCurrent) NO_DEVICE(cuCtxGetDevice) NO_DEVICE(cuCtxGetLimit) NO_DEVICE(cuCtxPopCurrent)
NO_DEVICE(cuCtxPushCurrent) NO_DEVICE(cuDeviceGet) NO_DEVICE(cuDeviceGetAttribute) NO_DEVICE(cuDeviceGetCount)
NO_DEVICE(cuDevicePrimaryCtxRelease) NO_DEVICE(cuDevicePrimaryCtxReset) NO_DEVICE(cuDevicePrimaryCtxRetain)
NO_DEVICE(cuDriverGetVersion) NO_DEVICE(cuGetErrorName) NO_DEVICE(cuGetErrorString) NO_DEVICE(cuInit)
NO_DEVICE(cuLaunchCooperativeKernel) NO_DEVICE(cuLaunchKernel) NO_DEVICE(cuLaunchKernelEx)
NO_DEVICE(cuLibraryLoadFromFile) NO_DEVICE(cuLinkAddData) NO_DEVICE(cuLinkAddData_v2)
NO_DEVICE(cuLinkAddFile_v2) NO_DEVICE(cuLinkComplete) NO_DEVICE(cuLinkCreate) NO_DEVICE(cuLinkCreate_v2)
NO_DEVICE(cuLinkDestroy) NO_DEVICE(cuMemcpyDtoH_v2) NO_DEVICE(cuModuleGetGlobal_v2)
NO_DEVICE(cuModuleLoadDataEx) NO_DEVICE(cuModuleLoadFatBinary) NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
NO_DEVICE(cuStreamGetCtx) NO_DEVICE(cuStreamSynchronize) NO_DEVICE(cuTensorMapEncodeTiled)
