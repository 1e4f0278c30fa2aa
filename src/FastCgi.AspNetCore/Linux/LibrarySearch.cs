// Load the system's C library, not a file of that name in the application folder.
[assembly: DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
