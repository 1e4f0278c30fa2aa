namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The names of what the doctor finds. They stay as they are; <c>docs/troubleshooting.md</c> has all of them in its table of faults.</summary>
internal static class DoctorRule
{
    public const string AuthorizationDropped = "authorization-dropped";
    public const string BacklogCut = "backlog-cut";
    public const string BacklogFull = "backlog-full";
    public const string BadAnswer = "bad-answer";
    public const string BodySize = "body-size";
    public const string CheckLocal = "check-local";
    public const string Chroot = "chroot";
    public const string Descriptors = "descriptors";
    public const string EphemeralKeys = "ephemeral-keys";
    public const string ErrorStatus = "error-status";
    public const string HeadBuffer = "head-buffer";
    public const string HostMissing = "host-missing";
    public const string HostPort = "host-port";
    public const string HttpToFastcgi = "http-to-fastcgi";
    public const string KeepConnMissing = "keep-conn-missing";
    public const string KeepaliveMissing = "keepalive-missing";
    public const string KeysNotShared = "keys-not-shared";
    public const string LengthMissing = "length-missing";
    public const string ModuleMissing = "module-missing";
    public const string NoAnswer = "no-answer";
    public const string NoSocket = "no-socket";
    public const string NobodyListens = "nobody-listens";
    public const string Nocanon = "nocanon";
    public const string NotASocket = "not-a-socket";
    public const string ParamsMissing = "params-missing";
    public const string PathBase = "path-base";
    public const string Permission = "permission";
    public const string PhpFpm = "php-fpm";
    public const string ProxyDirective = "proxy-directive";
    public const string ReadTimeout = "read-timeout";
    public const string SchemeBehindBalancer = "scheme-behind-balancer";
    public const string SchemeMissing = "scheme-missing";
    public const string SpeaksHttp = "speaks-http";
    public const string SpeaksTls = "speaks-tls";
    public const string StreamingHeld = "streaming-held";
    public const string TargetMissing = "target-missing";
    public const string TimeoutsDiffer = "timeouts-differ";
    public const string UploadHeld = "upload-held";
    public const string UserUnverified = "user-unverified";
}
