namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>A request that reports a user ignored by the authentication.</summary>
internal interface IUserObserver
{
    /// <summary>Called if a user is ignored: nothing indicates that the web server authenticated it.</summary>
    void ReportUserNotTaken(string userParameter, string typeParameter);
}
