using System.Runtime.InteropServices;

// The C library is the system's, not a file of that name beside the application.
[assembly: DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
