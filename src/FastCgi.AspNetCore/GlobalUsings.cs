global using System.Globalization;
global using System.Net;
global using System.Net.Sockets;
global using System.Text;
global using FastCgi.AspNetCore.Diagnostics;
global using FastCgi.AspNetCore.Requests;
global using Microsoft.AspNetCore.Http;
global using Microsoft.Extensions.Logging;
