using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>What one loop does for one listener.</summary>
internal sealed class EpollAcceptor(EpollEngine engine, EpollLoop loop, int listener, bool isTcp, EndPoint endPoint, PeerPolicy peers) : IEpollSource
{
    // Connections accepted at once; more have their turn behind the requests of those that are there.
    private const int MaxAcceptsInARow = 64;

    /// <inheritdoc/>
    public ulong Key { get; set; }

    /// <inheritdoc/>
    public void OnEvent(uint events)
    {
        for (var i = 0; i < MaxAcceptsInARow && TryAccept(); i++)
        {
        }
    }

    /// <summary>Accepts no more. On the thread of the loop.</summary>
    /// <param name="acceptsRest">Whether to accept those that wait before.</param>
    public void Stop(bool acceptsRest)
    {
        while (acceptsRest && TryAccept())
        {
        }

        loop.Forget(this, listener);
    }

    /// <returns>Whether there may be more.</returns>
    private bool TryAccept()
    {
        var descriptor = Libc.Accept(listener);
        if (descriptor >= 0)
        {
            OnAccepted(descriptor);
            return true;
        }

        var error = Libc.LastError;
        if (error is Libc.ErrorInterrupted or Libc.ErrorConnectionAborted)
            return true;

        // A socket that refuses connections says that it is invalid when it has no more.
        if (error is not (Libc.ErrorAgain or Libc.ErrorInvalid))
            OnFailed(error);
        return false;
    }

    private void OnAccepted(int descriptor)
    {
        if (peers.IsRestricted && !IsAllowed(descriptor))
        {
            engine.Manager.Server.Log.PeerRefused(endPoint);
            Libc.Close(descriptor);
            return;
        }

        var connection = new EpollConnection(engine.GetLeastLoaded(), descriptor, isTcp, engine.Manager);
        if (engine.Manager.TryAdd(connection.Connection))
            connection.Start();
        else
            Libc.Close(descriptor);
    }

    private bool IsAllowed(int descriptor)
    {
        using var socket = new Socket(new SafeSocketHandle(descriptor, ownsHandle: false));
        return peers.Allows(socket);
    }

    private void OnFailed(int error)
    {
        engine.Manager.Server.Log.AcceptOutOfResources(endPoint, new IOException(Marshal.GetPInvokeErrorMessage(error)));
        // With a connection that waits, the event would come again and again: it is better to let it go.
        if (error is Libc.ErrorTooManyOpenFiles or Libc.ErrorTooManyOpenFilesInSystem)
            engine.Reserve.AcceptAndClose(listener);
    }
}
