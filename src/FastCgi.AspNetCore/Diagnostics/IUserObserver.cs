namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>A request that is told what the authentication finds, for the status.</summary>
internal interface IUserObserver
{
    /// <summary>The user was not taken from the web server, because nothing says that it was checked.</summary>
    /// <param name="userParameter">The parameter that names the user.</param>
    /// <param name="typeParameter">The parameter that would say how the web server knows.</param>
    void ReportUserNotTaken(string userParameter, string typeParameter);
}
